// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/localcluster/pki"
)

func store(t *testing.T) *pki.Store {
	t.Helper()
	s, err := pki.NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func authority(t *testing.T, s *pki.Store, name string) *pki.Authority {
	t.Helper()
	a, err := s.Authority(time.Now(), name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func keyPair(t *testing.T, p pki.Pair, err error) tls.Certificate {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.X509KeyPair(p.CertPEM, p.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pool(a *pki.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.CertPEM())
	return p
}

func TestCertificates_WorkForMutualTLS(t *testing.T) {
	s := store(t)
	ca, other := authority(t, s, "ca"), authority(t, s, "other")
	serving, err := ca.Server(time.Now(), "127.0.0.1", "localhost", "::1")
	served := keyPair(t, serving, err)

	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = io.WriteString(w, subject.CommonName+" "+strings.Join(subject.Organization, ","))
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{served}, ClientCAs: pool(ca), ClientAuth: tls.RequireAndVerifyClientCert}
	srv.StartTLS()
	defer srv.Close()

	get := func(t *testing.T, issuer, trusted *pki.Authority) (string, error) {
		pair, err := issuer.Client(time.Now(), "alice", "dev", "ops")
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{keyPair(t, pair, err)}, RootCAs: pool(trusted),
		}}}
		defer client.CloseIdleConnections()
		resp, err := client.Get(srv.URL)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	got, err := get(t, ca, ca)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("alice dev,ops", got); diff != "" {
		t.Errorf("user and groups seen by the server (-want +got):\n%s", diff)
	}
	if _, err := get(t, other, ca); err == nil {
		t.Error("a client certificate of another authority was accepted")
	}
	if _, err := get(t, ca, other); err == nil {
		t.Error("a server was trusted through another authority")
	}
}

func TestAuthority_IsKept(t *testing.T) {
	s := store(t)
	first, second := authority(t, s, "ca"), authority(t, s, "ca")
	if diff := cmp.Diff(string(first.CertPEM()), string(second.CertPEM())); diff != "" {
		t.Errorf("the authority changed (-first +second):\n%s", diff)
	}
	info, err := os.Stat(s.KeyFile("ca"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode of the private key: %o, want 600", got)
	}
}

func TestAuthority_RejectsDamagedFiles(t *testing.T) {
	for name, damage := range map[string]func(*pki.Store) error{
		"certificate missing": func(s *pki.Store) error { return os.Remove(s.CertFile("ca")) },
		"key missing":         func(s *pki.Store) error { return os.Remove(s.KeyFile("ca")) },
		"certificate is not PEM": func(s *pki.Store) error {
			return os.WriteFile(s.CertFile("ca"), []byte("x"), 0o600)
		},
		"key is not PEM": func(s *pki.Store) error { return os.WriteFile(s.KeyFile("ca"), []byte("x"), 0o600) },
		"key of another certificate": func(s *pki.Store) error {
			return os.Rename(s.KeyFile("other"), s.KeyFile("ca"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			authority(t, s, "ca")
			authority(t, s, "other")
			if err := damage(s); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Authority(time.Now(), "ca"); err == nil {
				t.Error("a damaged authority was accepted or replaced")
			}
		})
	}
}

func TestSigningKey_IsKept(t *testing.T) {
	s := store(t)
	var keys []string
	for range 2 {
		if err := s.SigningKey("sa"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(s.PublicKeyFile("sa"))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(data))
	}
	if keys[0] != keys[1] || !strings.Contains(keys[0], "PUBLIC KEY") {
		t.Errorf("public keys of two calls: %q", keys)
	}
}

func TestCertificates_RejectEmptyNames(t *testing.T) {
	ca := authority(t, store(t), "ca")
	if _, err := ca.Client(time.Now(), ""); err == nil {
		t.Error("a client certificate without a user was issued")
	}
	if _, err := ca.Server(time.Now()); err == nil {
		t.Error("a serving certificate without a host was issued")
	}
}
