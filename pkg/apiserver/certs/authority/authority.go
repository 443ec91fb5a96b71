// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TrustedKey is the key of all trusted CA certificates. The issuing CA is stored in the usual keys of a TLS Secret.
const TrustedKey = "ca.crt"

// Authority issues certificates.
type Authority struct {
	// Trusted contains the certificates of all trusted CAs in PEM.
	Trusted []byte

	cert *x509.Certificate
	key  any
}

// Load reads the CA from the Secret of the management cluster. It creates the CA if the Secret does not exist.
func Load(ctx context.Context, host kubernetes.Interface, namespace, name string) (*Authority, error) {
	secret, err := Secret(ctx, host, namespace, name, time.Now())
	if err != nil {
		return nil, err
	}
	a, err := Parse(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", namespace, name, err)
	}
	return a, nil
}

// Secret returns the Secret of a CA and creates it if it does not exist.
func Secret(ctx context.Context, host kubernetes.Interface, namespace, name string, now time.Time) (*corev1.Secret, error) {
	secrets := host.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if secret, err = New(namespace, name, now); err != nil {
			return nil, err
		}
		made, createErr := secrets.Create(ctx, secret, metav1.CreateOptions{})
		if secret, err = made, createErr; apierrors.IsAlreadyExists(err) { // created by another replica
			secret, err = secrets.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority in Secret %s/%s: %w", namespace, name, err)
	}
	return secret, nil
}

// New returns the Secret of a new CA, which is the only trusted one. The name of the Secret is the common name of the
// certificate.
func New(namespace, name string, now time.Time) (*corev1.Secret, error) {
	cert, key, err := newAuthority(name, now)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{TrustedKey: cert, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	}, nil
}

// Parse reads a CA from the data of a Secret.
func Parse(data map[string][]byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(data[TrustedKey]) {
		return nil, fmt.Errorf("%s has no certificate", TrustedKey)
	}
	if !bytes.Contains(data[TrustedKey], bytes.TrimSpace(data[corev1.TLSCertKey])) {
		return nil, fmt.Errorf("the certificate in %s is not contained in %s, so certificates that it issues would not be trusted", corev1.TLSCertKey, TrustedKey)
	}
	return &Authority{Trusted: data[TrustedKey], cert: pair.Leaf, key: pair.PrivateKey}, nil
}

// HasSameCertificate reports whether a and b issue with the same certificate.
func (a *Authority) HasSameCertificate(b *Authority) bool { return b != nil && a.cert.Equal(b.cert) }
