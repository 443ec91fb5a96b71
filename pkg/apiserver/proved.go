// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/x509"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// provedFor is how long a certificate need not be verified again, which is as long as
	// answers about tokens are kept.
	provedFor = 10 * time.Second
	// maxProved bounds the certificates that are known at a time. There are as many as
	// clients that connect themselves, and kube-apiservers.
	maxProved = 1024
)

// RememberProved is next, but that a certificate which has been verified need not be
// verified again with each request for a while: that of the front proxy, and those of users
// whose authorities are clients, which may be nil. A tenth of what a read out of the watch
// cache costs is the verification. It is the certificate alone that is remembered: whom the
// front proxy speaks for is read from each request. A certificate that has expired, or
// whose authorities are not those any more by which it was verified, is verified again.
func RememberProved(next authenticator.Request, proxy *authenticatorfactory.RequestHeaderConfig, clients dynamiccertificates.CAContentProvider) authenticator.Request {
	if proxy == nil {
		return next
	}
	p := &proved{
		next:    next,
		proxies: x509request.NewDynamicCAVerifier(proxy.CAContentProvider.VerifyOptions, anybody, proxy.AllowedClientNames),
		headers: group.NewAuthenticatedGroupAdder(headerrequest.NewDynamic(
			proxy.UsernameHeaders, proxy.UIDHeaders, proxy.GroupHeaders, proxy.ExtraHeaderPrefixes)),
		authorities: []dynamiccertificates.CAContentProvider{proxy.CAContentProvider},
		known:       map[string]proof{},
	}
	if clients != nil {
		p.users = group.NewAuthenticatedGroupAdder(x509request.NewDynamic(clients.VerifyOptions, x509request.CommonNameUserConversion))
		p.authorities = append(p.authorities, clients)
	}
	return p
}

// anybody stands for what is asked when a certificate has been verified.
var anybody = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
	return &authenticator.Response{}, true, nil
})

type proved struct {
	next authenticator.Request
	// proxies verifies the certificate of a front proxy, and users, which may be nil, that
	// of a user; headers reads whom a front proxy speaks for.
	proxies, users, headers authenticator.Request
	// authorities are those by which certificates are verified.
	authorities []dynamiccertificates.CAContentProvider

	mu sync.Mutex
	// known are the proofs by certificate.
	known map[string]proof
}

// proof is that a certificate was verified.
type proof struct {
	until time.Time
	// bundles are the authorities by which it was.
	bundles [2]*byte
	// user is whom it names, nil for a front proxy.
	user *authenticator.Response
}

// AuthenticateRequest implements authenticator.Request.
func (p *proved) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return p.next.AuthenticateRequest(r)
	}
	certificate, bundles := r.TLS.PeerCertificates[0], p.bundles()
	if found, ok := p.recall(certificate, bundles); ok {
		if found.user != nil {
			return found.user, true, nil
		}
		if response, ok, err := p.headers.AuthenticateRequest(r); ok || err != nil {
			return response, ok, err
		}
	}
	response, ok, err := p.next.AuthenticateRequest(r)
	if ok && err == nil {
		p.learn(r, certificate, bundles)
	}
	return response, ok, err
}

// bundles tell authorities from those that were before: they come as they were read.
func (p *proved) bundles() (b [2]*byte) {
	for i, a := range p.authorities {
		if content := a.CurrentCABundleContent(); len(content) > 0 {
			b[i] = &content[0]
		}
	}
	return b
}

func (p *proved) recall(certificate *x509.Certificate, bundles [2]*byte) (proof, bool) {
	p.mu.Lock()
	found, ok := p.known[string(certificate.Raw)]
	p.mu.Unlock()
	now := time.Now()
	return found, ok && found.bundles == bundles && now.Before(found.until) && now.Before(certificate.NotAfter)
}

// learn verifies the certificate once more, by itself, and keeps what came out.
func (p *proved) learn(r *http.Request, certificate *x509.Certificate, bundles [2]*byte) {
	found := proof{until: time.Now().Add(provedFor), bundles: bundles}
	if _, ok, err := p.proxies.AuthenticateRequest(r); !ok || err != nil {
		if p.users == nil {
			return
		}
		if found.user, ok, err = p.users.AuthenticateRequest(r); !ok || err != nil {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxProved {
		clear(p.known) // who is there is soon known again
	}
	p.known[string(certificate.Raw)] = found
}
