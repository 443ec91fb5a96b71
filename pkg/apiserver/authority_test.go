// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	namespace = "slipway-system"
	name      = "an-authority"
)

// begin is the time at which the CAs are created.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func made(t *testing.T, at time.Time) map[string][]byte {
	t.Helper()
	secret, err := authority.New(namespace, name, at)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

func parsed(t *testing.T, data map[string][]byte) *authority.Authority {
	t.Helper()
	a, err := authority.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serves returns an error unless a certificate that is issued at one time is trusted at another.
func serves(t *testing.T, a *authority.Authority, trusted []byte, issued, at time.Time) error {
	t.Helper()
	cert, key, err := a.Leaf("server", []string{"server.example.com"}, issued, x509.ExtKeyUsageServerAuth)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "server.example.com", CurrentTime: at})
	return err
}

func TestAuthority_IsSharedByReplicasThatStartTogether(t *testing.T) {
	host := fake.NewClientset()
	all := make([]*authority.Authority, 5)
	var loading sync.WaitGroup
	for i := range all {
		loading.Go(func() {
			a, err := authority.Load(t.Context(), host, namespace, name)
			if err != nil {
				t.Error(err)
			}
			all[i] = a
		})
	}
	loading.Wait()
	for _, a := range all {
		if !bytes.Equal(a.Trusted, all[0].Trusted) || !a.HasSameCertificate(all[0]) {
			t.Error("two replicas use different CAs")
		}
	}
}

// The CA is replaced in several steps. Before and after each step, replicas must trust each other's certificates.
func TestAuthority_IsReplacedWhileTheOldOneIsTrusted(t *testing.T) {
	data := made(t, begin)
	first := parsed(t, data)
	steps := []*authority.Authority{first}
	var took []time.Duration
	const replaceBefore = authority.Validity / 3
	var now time.Time
	for now = begin.Add(authority.Validity - replaceBefore - 24*time.Hour); now.Before(begin.Add(authority.Validity - replaceBefore/2)); now = now.Add(24 * time.Hour) {
		next, err := authority.Next(name, data, now)
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			data = next
			steps, took = append(steps, parsed(t, data)), append(took, now.Sub(begin))
		}
	}
	if len(steps) != 3 {
		t.Fatalf("got %d steps, want two before the old CA expires", len(steps)-1)
	}
	if want := authority.Validity - replaceBefore; took[0] < want || took[0] > want+24*time.Hour {
		t.Errorf("the next CA is created after %s, want a third of the validity before its end", took[0])
	}
	if d := took[1] - took[0]; d < authority.TrustPeriod || d > authority.TrustPeriod+24*time.Hour {
		t.Errorf("it issues certificates %s after its creation, want %s", d, authority.TrustPeriod)
	}
	if !steps[1].HasSameCertificate(first) || steps[2].HasSameCertificate(first) {
		t.Error("the new CA issues before it is trusted, or never")
	}
	for i, a := range steps {
		for _, b := range steps[max(0, i-1):min(len(steps), i+2)] {
			if err := serves(t, a, b.Trusted, now, now); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
	}
	if len(data[authority.NextKeyKey]) > 0 || len(data[authority.NextCertKey]) > 0 {
		t.Error("the next CA is still stored after it has become the issuer")
	}

	// An expired CA is no longer trusted.
	ended, err := authority.Next(name, data, begin.Add(authority.Validity+24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.TrimSpace(first.Trusted); bytes.Contains(ended[authority.TrustedKey], want) || !bytes.Contains(data[authority.TrustedKey], want) {
		t.Error("the first CA must be trusted until it expires, and no longer")
	}
}

func TestAuthority_IsReplacedImmediatelyIfExpired(t *testing.T) {
	data, late := made(t, begin), begin.Add(authority.Validity+time.Hour)
	for range 2 {
		next, err := authority.Next(name, data, late)
		if err != nil || next == nil {
			t.Fatalf("no step is due (error %v)", err)
		}
		data = next
	}
	a := parsed(t, data)
	if err := serves(t, a, a.Trusted, late, late); err != nil {
		t.Error(err)
	}
}

func TestAuthority_IsNotReplacedEarly(t *testing.T) {
	for _, age := range []time.Duration{0, authority.LeafValidity, authority.Validity / 2} {
		if next, err := authority.Next(name, made(t, begin), begin.Add(age)); err != nil || next != nil {
			t.Errorf("after %s: got %d changed keys and error %v", age, len(next), err)
		}
	}
}

func TestAuthority_ReportsAnInvalidSecret(t *testing.T) {
	good, err := authority.New(namespace, name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other := made(t, time.Now())
	for key, want := range map[string]string{"tls.key": "tls.crt and tls.key", "ca.crt": "not contained in ca.crt"} {
		bad := good.DeepCopy()
		bad.Data[key] = other[key]
		if _, err := authority.Load(t.Context(), fake.NewClientset(bad), namespace, name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of another CA: %v, want %q", key, err, want)
		}
	}
	if _, err := authority.Next(name, map[string][]byte{}, begin); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("a step of an empty Secret: %v", err)
	}
	bad := maps.Clone(good.Data)
	bad[authority.NextCertKey], bad[authority.NextKeyKey] = other["tls.crt"], good.Data["tls.key"]
	if _, err := authority.Next(name, bad, begin); err == nil || !strings.Contains(err.Error(), "next.crt and next.key") {
		t.Errorf("a next CA with the key of another: %v", err)
	}
}
