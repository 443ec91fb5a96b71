// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the next CA, which is already trusted and will issue certificates later.
const (
	NextCertKey = "next.crt"
	NextKeyKey  = "next.key"
)

const (
	// replaceBefore is the remaining validity at which a CA is replaced.
	replaceBefore = Validity / 3
	// TrustPeriod is the time for which a new CA is trusted before it issues certificates. Clients that copy ca.crt get it
	// in that time, and an administrator can notice the replacement.
	TrustPeriod = 24 * time.Hour
)

// Next returns the next data of a CA's Secret, or nil if it needs no change. Each call performs one step of a
// replacement. First the next CA is created and trusted, then it issues certificates. The previous CA is trusted
// until it expires, and its key is deleted.
func Next(name string, data map[string][]byte, now time.Time) (map[string][]byte, error) {
	issuing, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if kept := unexpired(data[TrustedKey], issuing.cert, now); !bytes.Equal(kept, data[TrustedKey]) {
		return with(data, map[string][]byte{TrustedKey: kept}), nil
	}
	if len(data[NextCertKey]) == 0 {
		if issuing.cert.NotAfter.Sub(now) > replaceBefore {
			return nil, nil
		}
		cert, key, err := newAuthority(name, now)
		if err != nil {
			return nil, err
		}
		return with(data, map[string][]byte{NextCertKey: cert, NextKeyKey: key, TrustedKey: joined(data[TrustedKey], cert)}), nil
	}
	pair, err := tls.X509KeyPair(data[NextCertKey], data[NextKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", NextCertKey, NextKeyKey, err)
	}
	if !bytes.Contains(data[TrustedKey], bytes.TrimSpace(data[NextCertKey])) {
		return with(data, map[string][]byte{TrustedKey: joined(data[TrustedKey], data[NextCertKey])}), nil
	}
	if now.Before(pair.Leaf.NotBefore.Add(backdate+TrustPeriod)) && now.Before(issuing.cert.NotAfter) {
		return nil, nil
	}
	return with(data, map[string][]byte{
		corev1.TLSCertKey: data[NextCertKey], corev1.TLSPrivateKeyKey: data[NextKeyKey], NextCertKey: nil, NextKeyKey: nil,
	}), nil
}

// with returns data with changes. A nil value removes the key.
func with(data, changes map[string][]byte) map[string][]byte {
	changed := maps.Clone(data)
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_ string, value []byte) bool { return value == nil })
	return changed
}

// joined returns all certificates followed by one.
func joined(all, one []byte) []byte {
	return append(append(bytes.TrimRight(bytes.Clone(all), "\n"), '\n'), one...)
}

// unexpired returns all without expired certificates. It always keeps the issuing certificate, and entries that are
// not certificates.
func unexpired(all []byte, issuing *x509.Certificate, now time.Time) []byte {
	ended := false
	var kept []byte
	for rest := all; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && now.After(cert.NotAfter) && !cert.Equal(issuing) {
			ended = true
			continue
		}
		kept = append(kept, pem.EncodeToMemory(block)...)
	}
	if !ended {
		return all
	}
	return kept
}
