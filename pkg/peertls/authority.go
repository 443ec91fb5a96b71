// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package peertls

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// SecretName is the Secret of the host cluster that has the authority.
const SecretName = "slipway-etcd-peers"

// trustedKey has all authorities that are trusted; the one that issues is in the usual keys
// of a TLS Secret.
const trustedKey = "ca.crt"

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// leafLife is how long a certificate of a member is valid.
	leafLife = 90 * 24 * time.Hour
	// backdate allows for clocks that are behind.
	backdate = 10 * time.Minute
)

// Authority issues certificates of members.
type Authority struct {
	trusted []byte
	cert    *x509.Certificate
	key     any
}

// Load reads the authority from namespace of the host cluster, and makes it when there is
// none.
func Load(ctx context.Context, host kubernetes.Interface, namespace string) (*Authority, error) {
	secrets := host.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(ctx, SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if secret, err = newSecret(namespace, time.Now()); err != nil {
			return nil, err
		}
		made, createErr := secrets.Create(ctx, secret, metav1.CreateOptions{})
		if secret, err = made, createErr; apierrors.IsAlreadyExists(err) { // another replica was first
			secret, err = secrets.Get(ctx, SecretName, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the authority of etcd's members, Secret %s/%s: %w", namespace, SecretName, err)
	}
	a, err := parse(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("the Secret %s/%s: %w", namespace, SecretName, err)
	}
	return a, nil
}

func parse(data map[string][]byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(data[trustedKey]) {
		return nil, fmt.Errorf("%s has no certificate", trustedKey)
	}
	if !bytes.Contains(data[trustedKey], bytes.TrimSpace(data[corev1.TLSCertKey])) {
		return nil, fmt.Errorf("%s is not among those of %s: its certificates would not be trusted", corev1.TLSCertKey, trustedKey)
	}
	return &Authority{trusted: data[trustedKey], cert: pair.Leaf, key: pair.PrivateKey}, nil
}

// newSecret has an authority that is trusted alone.
func newSecret(namespace string, now time.Time) (*corev1.Secret, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "slipway-etcd-peers"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, key, err := issue(template, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making the authority of etcd's members: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: namespace}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{trustedKey: cert, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	}, nil
}

// leaf is a certificate with its key for a member that others reach at host.
func (a *Authority) leaf(name, host string, now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	cert, key, err := issue(template, a.cert, a.key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of etcd's member %s: %w", name, err)
	}
	return append(cert, key...), nil
}

// issue makes a certificate, signed by itself without an issuer.
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
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}
