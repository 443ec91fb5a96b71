// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const selfSignedLifetime = 10 * 365 * 24 * time.Hour

// certificate loads the serving certificate, or creates a self-signed one for the host. It returns the file that
// clients can trust.
func certificate(o Options, now time.Time) (tls.Certificate, string, error) {
	certFile, keyFile := o.CertFile, o.KeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(o.StateDir, "vcenter.crt"), filepath.Join(o.StateDir, "vcenter.key")
		if _, err := os.Stat(certFile); errors.Is(err, os.ErrNotExist) {
			host, _, err := net.SplitHostPort(o.Listen)
			if err != nil {
				return tls.Certificate{}, "", err
			}
			if err := selfSign(certFile, keyFile, host, now); err != nil {
				return tls.Certificate{}, "", fmt.Errorf("make a self-signed certificate: %w", err)
			}
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("load the serving certificate %s: %w", certFile, err)
	}
	return pair, certFile, nil
}

func selfSign(certFile, keyFile, host string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "slipway-dev vcenter"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(selfSignedLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if ip == nil && host != "" && host != "localhost" {
		template.DNSNames = append(template.DNSNames, host)
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The key is written first: a certificate without its key would be treated as complete.
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
}

// thumbprint is the SHA-256 of the certificate as vSphere writes it: upper-case
// hex pairs with colons.
func thumbprint(cert tls.Certificate) string {
	sum := sha256.Sum256(cert.Certificate[0])
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}
