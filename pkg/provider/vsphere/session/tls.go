// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/sha1" // vSphere's tools show SHA-1 thumbprints; a pin needs no collision resistance
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrThumbprintMismatch is returned when the server's certificate is not the pinned one.
var ErrThumbprintMismatch = errors.New("the certificate does not have the configured thumbprint")

// tlsConfig returns the TLS configuration with the verification that o specifies.
func tlsConfig(o Options) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case o.Thumbprint != "" && len(o.CAPEM) > 0:
		return nil, errors.New("vCenter certificate: specify either a CA or a thumbprint, not both")
	case o.Thumbprint != "":
		pin, err := parseThumbprint(o.Thumbprint)
		if err != nil {
			return nil, err
		}
		// The pin replaces the verification of the chain. It is checked for every connection, including
		// resumed ones.
		cfg.InsecureSkipVerify = true // verified below
		cfg.VerifyConnection = func(cs tls.ConnectionState) error { return verifyPin(pin, cs) }
	case len(o.CAPEM) > 0:
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(o.CAPEM) {
			return nil, errors.New("vCenter CA: no certificate found in the PEM data")
		}
		cfg.RootCAs = pool
	}
	return cfg, nil
}

// parseThumbprint decodes a SHA-1 or SHA-256 thumbprint in hexadecimal.
func parseThumbprint(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
	if err != nil || (len(b) != sha1.Size && len(b) != sha256.Size) {
		return nil, fmt.Errorf("vCenter thumbprint %q: must be a SHA-256 (64 hexadecimal digits) or SHA-1 (40)", s)
	}
	return b, nil
}

// verifyPin compares the server's leaf certificate with the pin.
func verifyPin(pin []byte, cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return ErrThumbprintMismatch
	}
	raw := cs.PeerCertificates[0].Raw
	var sum []byte
	if len(pin) == sha1.Size {
		s := sha1.Sum(raw) // see the import
		sum = s[:]
	} else {
		s := sha256.Sum256(raw)
		sum = s[:]
	}
	if subtle.ConstantTimeCompare(pin, sum) != 1 {
		return ErrThumbprintMismatch
	}
	return nil
}
