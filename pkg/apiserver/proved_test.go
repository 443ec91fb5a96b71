// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// authority signs certificates. Its bundle may be replaced by another one's.
type authority struct {
	dynamiccertificates.CAContentProvider
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.certificate, a.key = a.sign(t, "authority", 24*time.Hour)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
	var err error
	if a.CAContentProvider, err = dynamiccertificates.NewStaticCAContent("test", bundle); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a certificate, the authority's own if it has none.
func (a *authority) sign(t *testing.T, name string, valid time.Duration) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"team"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// counting counts the requests that are not answered from memory.
type counting struct {
	authenticator.Request
	asked int
}

func (c *counting) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	c.asked++
	return c.Request.AuthenticateRequest(r)
}

// door is a remembering authenticator over the library's.
type door struct {
	*testing.T
	proxies, users *authority
	all            *counting
	remembering    authenticator.Request
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{T: t, proxies: newAuthority(t), users: newAuthority(t)}
	config := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider: d.proxies, UsernameHeaders: headerrequest.StaticStringSlice{"X-Remote-User"}, UIDHeaders: headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders: headerrequest.StaticStringSlice{"X-Remote-Group"}, ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
		AllowedClientNames: headerrequest.StaticStringSlice{"front-proxy"},
	}
	all, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{ClientCertificateCAContentProvider: d.users, RequestHeaderConfig: config}.New()
	if err != nil {
		t.Fatal(err)
	}
	d.all = &counting{Request: all}
	d.remembering = RememberProved(d.all, config, d.users)
	return d
}

// who is the user of a request over certificate, with his groups, empty if he is nobody.
func (d *door) who(certificate *x509.Certificate, headers ...string) []string {
	d.Helper()
	r := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, ok, err := d.remembering.AuthenticateRequest(r)
	if !ok || err != nil {
		return nil
	}
	if r.Header.Get("X-Remote-User") != "" && certificate.Subject.CommonName == "front-proxy" {
		d.Error("the headers by which the front proxy tells users go on with the request")
	}
	return append([]string{response.User.GetName()}, response.User.GetGroups()...)
}

// is compares who it is and whether he was known from memory.
func (d *door) is(want []string, remembered bool, certificate *x509.Certificate, headers ...string) {
	d.Helper()
	before := d.all.asked
	if diff := cmp.Diff(want, d.who(certificate, headers...)); diff != "" {
		d.Errorf("user and groups (-want +got):\n%s", diff)
	}
	if got := d.all.asked == before; got != remembered {
		d.Errorf("answered from memory: %t, want %t", got, remembered)
	}
}

func TestAProvedCertificateIsNotVerifiedWithEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t)
		proxy, _ := d.proxies.sign(t, "front-proxy", time.Hour)
		alice := []string{"alice", "team-a", "system:authenticated"}
		d.is(alice, false, proxy, "X-Remote-User", "alice", "X-Remote-Group", "team-a")
		d.is(alice, true, proxy, "X-Remote-User", "alice", "X-Remote-Group", "team-a")
		d.is([]string{"bob", "system:authenticated"}, true, proxy, "X-Remote-User", "bob") // whom each request names
		d.is(nil, false, proxy)                                                            // who is nobody without

		carol, _ := d.users.sign(t, "carol", time.Hour)
		d.is([]string{"carol", "team", "system:authenticated"}, false, carol)
		d.is([]string{"carol", "team", "system:authenticated"}, true, carol, "X-Remote-User", "alice", "X-Remote-Group", "system:masters")

		time.Sleep(provedFor)
		d.is(alice, false, proxy, "X-Remote-User", "alice", "X-Remote-Group", "team-a")
		d.is([]string{"carol", "team", "system:authenticated"}, false, carol)
	})
}

func TestWhoWasNotVerifiedIsNotRemembered(t *testing.T) {
	d := newDoor(t)
	foreign, _ := newAuthority(t).sign(t, "front-proxy", time.Hour)
	other, _ := d.proxies.sign(t, "another", time.Hour) // whose name may not speak for others
	for range 2 {
		d.is(nil, false, foreign, "X-Remote-User", "alice")
		d.is(nil, false, other, "X-Remote-User", "alice")
	}
}

func TestAnExpiredCertificateIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t)
		proxy, _ := d.proxies.sign(t, "front-proxy", provedFor/2)
		user, _ := d.users.sign(t, "carol", provedFor/2)
		d.is([]string{"alice", "system:authenticated"}, false, proxy, "X-Remote-User", "alice")
		d.is([]string{"carol", "team", "system:authenticated"}, false, user)
		time.Sleep(provedFor/2 + time.Second)
		d.is(nil, false, proxy, "X-Remote-User", "alice")
		d.is(nil, false, user)
	})
}

func TestACertificateOfReplacedAuthoritiesIsNotRemembered(t *testing.T) {
	d := newDoor(t)
	proxy, _ := d.proxies.sign(t, "front-proxy", time.Hour)
	user, _ := d.users.sign(t, "carol", time.Hour)
	d.is([]string{"alice", "system:authenticated"}, false, proxy, "X-Remote-User", "alice")
	d.is([]string{"carol", "team", "system:authenticated"}, false, user)
	d.proxies.CAContentProvider = newAuthority(t).CAContentProvider
	d.is(nil, false, proxy, "X-Remote-User", "alice")
	d.users.CAContentProvider = newAuthority(t).CAContentProvider
	d.is(nil, false, user)
}

func TestProvedCertificatesAreBounded(t *testing.T) {
	d := newDoor(t)
	p := d.remembering.(*proved)
	for i := range maxProved {
		p.known[string(rune(i))] = proof{}
	}
	user, _ := d.users.sign(t, "carol", time.Hour)
	d.who(user)
	if len(p.known) != 1 {
		t.Errorf("%d certificates are known, want the last one", len(p.known))
	}
}
