// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// authorityLifetime is long because nothing rotates the authorities of a
	// development environment.
	authorityLifetime = 10 * 365 * 24 * time.Hour
	// leafLifetime is one year, the lifetime that kubeadm gives to leaf certificates.
	leafLifetime = 365 * 24 * time.Hour
	// clockSkew is how far into the past a certificate becomes valid, for
	// containers and virtual machines whose clock is slightly behind.
	clockSkew = 5 * time.Minute
)

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	// CertPEM is the certificate alone, without its issuer.
	CertPEM []byte
	// KeyPEM is the PKCS #8 private key.
	KeyPEM []byte
}

// Authority signs certificates.
type Authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
}

// CertPEM is the authority's certificate, for clients and servers to trust.
func (a *Authority) CertPEM() []byte { return a.certPEM }

// Server issues a serving certificate for hosts, each an IP address or a DNS name.
// The first one becomes the common name.
func (a *Authority) Server(now time.Time, hosts ...string) (Pair, error) {
	if len(hosts) == 0 {
		return Pair{}, fmt.Errorf("issuing a serving certificate: no host is given")
	}
	template := leaf(now, pkix.Name{CommonName: hosts[0]}, x509.ExtKeyUsageServerAuth)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, h)
	}
	return a.sign(template)
}

// Client issues a client certificate. Kubernetes reads user as the user name and
// groups as the groups the user is in.
func (a *Authority) Client(now time.Time, user string, groups ...string) (Pair, error) {
	if user == "" {
		return Pair{}, fmt.Errorf("issuing a client certificate: the user name is empty")
	}
	return a.sign(leaf(now, pkix.Name{CommonName: user, Organization: groups}, x509.ExtKeyUsageClientAuth))
}

// newAuthority makes a self-signed authority.
func newAuthority(now time.Time, name string) (*Authority, Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, Pair{}, fmt.Errorf("making the key of authority %q: %w", name, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	self := &Authority{cert: template, key: key}
	pair, err := self.signKey(template, key)
	if err != nil {
		return nil, Pair{}, err
	}
	a, err := parseAuthority(pair)
	return a, pair, err
}

// sign makes a new key and a certificate for it.
func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making the key of certificate %q: %w", template.Subject.CommonName, err)
	}
	return a.signKey(template, key)
}

func (a *Authority) signKey(template *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, fmt.Errorf("making a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing certificate %q: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{CertPEM: encodeCert(der), KeyPEM: keyPEM}, nil
}

func leaf(now time.Time, subject pkix.Name, usage x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{
		Subject:     subject,
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(leafLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
}
