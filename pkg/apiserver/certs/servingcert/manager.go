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

// SecretName is the Secret of the host cluster that has the authority.
const SecretName = "slipway-serving-ca"

// Options say what is served, and where.
type Options struct {
	// Host and Dynamic reach the host cluster.
	Host    kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace and Service are those by which the host cluster reaches the server; the
	// Secret is in that namespace.
	Namespace, Service string
	// Names are more names and addresses that the certificate is for.
	Names []string
	// APIServices are the names of those that lead to the server.
	APIServices []string
	// Clock tells the time; nil stands for that of the machine.
	Clock clock.WithTicker
}

// Manager has the certificate. Its methods may be called concurrently.
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

// New returns one without a certificate: see Load.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	inCluster := o.Service + "." + o.Namespace
	return &Manager{options: o, hosts: append([]string{inCluster + ".svc", inCluster, o.Service}, o.Names...)}
}

// Load gets a certificate, and makes the authority when there is none. It is to be called
// until it returns nil, before anything is served.
func (m *Manager) Load(ctx context.Context) error {
	_, err := m.serve(ctx)
	return err
}

// serve brings authority and certificate to what they are to be now, and returns what is to
// be trusted.
func (m *Manager) serve(ctx context.Context) (trusted []byte, err error) {
	o, now := &m.options, m.options.Clock.Now()
	secret, err := authority.Secret(ctx, o.Host, o.Namespace, SecretName, now)
	if err != nil {
		return nil, err
	}
	a, err := authority.Parse(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("the Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	return a.Trusted, m.renew(ctx, a, now)
}

// renew makes a new certificate when it is time, or the issuer is another one.
func (m *Manager) renew(ctx context.Context, a *authority.Authority, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cert != nil && a.Same(m.issuer) && now.Before(m.issued.Add(authority.RenewAfter)) {
		return nil
	}
	cert, key, err := a.Leaf(m.hosts[0], m.hosts, now, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return err
	}
	m.cert, m.key, m.issuer, m.issued = cert, key, a, now
	klog.FromContext(ctx).Info("The serving certificate is new", "names", m.hosts, "renewal", now.Add(authority.RenewAfter))
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

// reconcile sets right what can be, and returns all that could not. A step of the authority
// comes last, so that what it is about is trusted by everybody before the next one.
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
