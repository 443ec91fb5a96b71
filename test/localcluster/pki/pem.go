// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

const (
	blockCertificate = "CERTIFICATE"
	blockPrivateKey  = "PRIVATE KEY"
	blockPublicKey   = "PUBLIC KEY"
)

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPrivateKey, Bytes: der}), nil
}

func encodePublicKey(key *ecdsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPublicKey, Bytes: der}), nil
}

func decodeCert(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != blockCertificate {
		return nil, fmt.Errorf("no PEM block of type %s", blockCertificate)
	}
	return x509.ParseCertificate(block.Bytes)
}

func decodeKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != blockPrivateKey {
		return nil, fmt.Errorf("no PEM block of type %s", blockPrivateKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T, want ECDSA", parsed)
	}
	return key, nil
}

// parseAuthority refuses a pair whose key does not belong to its certificate.
func parseAuthority(p Pair) (*Authority, error) {
	cert, err := decodeCert(p.CertPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := decodeKey(p.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("the key does not belong to the certificate %q", cert.Subject.CommonName)
	}
	return &Authority{cert: cert, key: key, certPEM: p.CertPEM}, nil
}
