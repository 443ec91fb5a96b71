// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// Validity is the validity of a CA.
	Validity = 10 * 365 * 24 * time.Hour
	// LeafValidity is the validity of an issued certificate.
	LeafValidity = 90 * 24 * time.Hour
	// RenewAfter is the age at which an issued certificate is renewed. Renewal can fail for two months before the
	// certificate expires.
	RenewAfter = LeafValidity / 3
	// backdate allows for clocks that are behind.
	backdate = 10 * time.Minute
)

// PEM types of blocks.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// Leaf issues a certificate with a new key for hosts, which are addresses or DNS names.
func (a *Authority) Leaf(name string, hosts []string, now time.Time, usages ...x509.ExtKeyUsage) (cert, key []byte, err error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(LeafValidity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usages,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if cert, key, err = issue(template, a.cert, a.key); err != nil {
		return nil, nil, fmt.Errorf("creating the certificate of %s: %w", name, err)
	}
	return cert, key, nil
}

// newAuthority returns a new self-signed CA certificate and its key.
func newAuthority(name string, now time.Time) (cert, key []byte, err error) {
	cert, key, err = issue(&x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(Validity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("creating the certificate authority %s: %w", name, err)
	}
	return cert, key, nil
}

// issue creates a certificate. It is self-signed if issuer is nil.
func issue(template, issuer *x509.Certificate, issuerKey any) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if issuer == nil {
		issuer, issuerKey = template, private
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, private.Public(), issuerKey)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: encoded}), nil
}
