// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package peertls

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
)

const namespace = "slipway-system"

func load(t *testing.T, host *fake.Clientset) *Authority {
	t.Helper()
	a, err := Load(t.Context(), host, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// verify wants a certificate of a member to be good for the name, at both ends.
func verify(t *testing.T, pem, trusted []byte, host string, at time.Time) error {
	t.Helper()
	pair, err := tls.X509KeyPair(pem, pem)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			return err
		}
	}
	return nil
}

func TestReplicasThatStartTogetherHaveOneAuthority(t *testing.T) {
	host := fake.NewClientset()
	all := make([]*Authority, 5)
	var loading sync.WaitGroup
	for i := range all {
		loading.Go(func() { all[i] = load(t, host) })
	}
	loading.Wait()
	for _, a := range all {
		if !bytes.Equal(a.trusted, all[0].trusted) {
			t.Error("two replicas trust different authorities")
		}
	}
}

func TestACertificateIsGoodForItsMemberAloneAndAWhile(t *testing.T) {
	a := load(t, fake.NewClientset())
	stranger := load(t, fake.NewClientset())
	for _, host := range []string{"r-0.peers.svc", "127.0.0.1"} {
		files, err := a.Write(t.TempDir(), "r-0", host)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := os.ReadFile(files.Cert)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if err := verify(t, leaf, a.trusted, host, now); err != nil {
			t.Error(err)
		}
		if verify(t, leaf, a.trusted, "r-1.peers.svc", now) == nil {
			t.Error("it is good for another member")
		}
		if verify(t, leaf, stranger.trusted, host, now) == nil {
			t.Error("it is good for another authority")
		}
		if verify(t, leaf, a.trusted, host, now.Add(leafLife+time.Hour)) == nil {
			t.Error("it is good for ever")
		}
		if info, err := os.Stat(files.Cert); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file of the key: %v (error %v)", info.Mode(), err)
		}
	}
}

// The authority changes in steps; in each of them members of the step before and after it
// trust each other.
func TestAnAuthorityIsReplacedWhileTheOldOneIsTrusted(t *testing.T) {
	before, after := load(t, fake.NewClientset()), load(t, fake.NewClientset())
	both := append(bytes.Clone(before.trusted), after.trusted...)
	steps := []*Authority{before, {both, before.cert, before.key}, {both, after.cert, after.key}, after}
	for i, a := range steps {
		for _, b := range steps[max(0, i-1):min(len(steps), i+2)] {
			leaf, err := a.leaf("r-0", "r-0", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(t, leaf, b.trusted, "r-0", time.Now()); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
	}
}

func TestASecretThatIsNoneIsNamed(t *testing.T) {
	good, err := newSecret(namespace, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSecret(namespace, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"tls.key": "tls.crt and tls.key", "ca.crt": "not among those of ca.crt"} {
		bad := good.DeepCopy()
		bad.Data[key] = other.Data[key]
		if _, err := Load(t.Context(), fake.NewClientset(bad), namespace); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), SecretName) {
			t.Errorf("%s of another one: %v, want %q", key, err, want)
		}
	}
}
