// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package peertls

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
)

// SecretName is the Secret of the host cluster that has the authority.
const SecretName = "slipway-etcd-peers"

// Authority issues certificates of members.
type Authority struct{ *authority.Authority }

// Load reads the authority from namespace of the host cluster, and makes it when there is
// none.
func Load(ctx context.Context, host kubernetes.Interface, namespace string) (*Authority, error) {
	a, err := authority.Load(ctx, host, namespace, SecretName)
	if err != nil {
		return nil, fmt.Errorf("the authority of etcd's members: %w", err)
	}
	return &Authority{a}, nil
}

// leaf is a certificate with its key for a member that others reach at host.
func (a *Authority) leaf(name, host string, now time.Time) ([]byte, error) {
	cert, key, err := a.Leaf(name, []string{host}, now, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, fmt.Errorf("a member of etcd: %w", err)
	}
	return append(cert, key...), nil
}
