// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package peertls

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
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
		if err := verify(t, leaf, a.Trusted, host, now); err != nil {
			t.Error(err)
		}
		if verify(t, leaf, a.Trusted, "r-1.peers.svc", now) == nil {
			t.Error("it is good for another member")
		}
		if verify(t, leaf, stranger.Trusted, host, now) == nil {
			t.Error("it is good for another authority")
		}
		if verify(t, leaf, a.Trusted, host, now.Add(authority.LeafLife+time.Hour)) == nil {
			t.Error("it is good for ever")
		}
		if info, err := os.Stat(files.Cert); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file of the key: %v (error %v)", info.Mode(), err)
		}
	}
}
