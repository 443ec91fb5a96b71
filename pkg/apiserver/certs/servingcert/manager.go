// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
)

// SecretName is the name of the Secret in the management cluster that contains the CA.
const SecretName = "slipway-serving-ca"

// Options configure a Manager.
type Options struct {
	// Host and Dynamic are clients of the management cluster.
	Host    kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace and Service identify the Service through which the management cluster reaches the server. The Secret
	// is in the same namespace.
	Namespace, Service string
	// Names are additional DNS names and addresses of the certificate.
	Names []string
	// APIServices are the names of the APIServices that refer to the server.
	APIServices []string
	// Clock is the source of time; nil means the system clock.
	Clock clock.WithTicker
}

// Manager manages the serving certificate. Its methods may be called concurrently.
type Manager struct {
	options Options
	hosts   []string

	mu        sync.Mutex
	issuer    *authority.Authority
	issued    time.Time
	cert, key []byte
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = &Manager{}
	_ dynamiccertificates.Notifier               = &Manager{}
)

// New returns a Manager without a certificate; call Load to get one.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	inCluster := o.Service + "." + o.Namespace
	return &Manager{options: o, hosts: append([]string{inCluster + ".svc", inCluster, o.Service}, o.Names...)}
}

// Load issues a certificate and creates the CA if it does not exist. Call it until it returns nil, before the server
// listens.
func (m *Manager) Load(ctx context.Context) error {
	_, err := m.serve(ctx)
	return err
}

// serve updates the CA and the certificate if necessary and returns the trusted CAs.
func (m *Manager) serve(ctx context.Context) (trusted []byte, err error) {
	o, now := &m.options, m.options.Clock.Now()
	secret, err := authority.Secret(ctx, o.Host, o.Namespace, SecretName, now)
	if err != nil {
		return nil, err
	}
	a, err := authority.Parse(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("read the CA in Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	return a.Trusted, m.renew(ctx, a, now)
}

// renew issues a new certificate if renewal is due or the issuer has changed.
func (m *Manager) renew(ctx context.Context, a *authority.Authority, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cert != nil && a.HasSameCertificate(m.issuer) && now.Before(m.issued.Add(authority.RenewAfter)) {
		return nil
	}
	cert, key, err := a.Leaf(m.hosts[0], m.hosts, now, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return err
	}
	m.cert, m.key, m.issuer, m.issued = cert, key, a, now
	klog.FromContext(ctx).Info("Renewed the serving certificate", "names", m.hosts, "renewal", now.Add(authority.RenewAfter))
	for _, l := range m.listeners {
		l.Enqueue()
	}
	return nil
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (m *Manager) Name() string { return SecretName }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (m *Manager) CurrentCertKeyContent() (cert, key []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cert, m.key
}

// AddListener implements dynamiccertificates.Notifier.
func (m *Manager) AddListener(l dynamiccertificates.Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners, l)
}

// reconcile updates the certificate, the APIServices and the CA. A CA replacement is the last step, so that every
// APIService trusts the current CAs before the next step.
func (m *Manager) reconcile(ctx context.Context) error {
	trusted, err := m.serve(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range m.options.APIServices {
		errs = append(errs, m.trust(ctx, name, trusted))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return m.step(ctx)
}
