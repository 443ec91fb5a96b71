// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// LimitSecrets returns a client of the management cluster that reads Secrets only in the allowed namespaces.
func LimitSecrets(host kubernetes.Interface, allowed []string) kubernetes.Interface {
	return limitedHost{Interface: host, allowed: allowed}
}

// limitedHost is a client that reads Secrets only in some namespaces.
type limitedHost struct {
	kubernetes.Interface
	allowed []string
}

// CoreV1 implements kubernetes.Interface.
func (h limitedHost) CoreV1() typedcorev1.CoreV1Interface {
	return limitedCore{CoreV1Interface: h.Interface.CoreV1(), allowed: h.allowed}
}

type limitedCore struct {
	typedcorev1.CoreV1Interface
	allowed []string
}

// Secrets implements typedcorev1.SecretsGetter.
func (c limitedCore) Secrets(namespace string) typedcorev1.SecretInterface {
	secrets := c.CoreV1Interface.Secrets(namespace)
	if slices.Contains(c.allowed, namespace) {
		return secrets
	}
	return unreadSecrets{SecretInterface: secrets, namespace: namespace}
}

// unreadSecrets is a client of the Secrets in a namespace that is not allowed. The server uses no method other than
// Get; the embedded interface provides the others.
type unreadSecrets struct {
	typedcorev1.SecretInterface
	namespace string
}

// Get implements typedcorev1.SecretInterface.
func (s unreadSecrets) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	return nil, apierrors.NewForbidden(corev1.Resource("secrets"), name,
		fmt.Errorf("the server does not read Secrets in namespace %q: the namespace is not in --secret-namespaces", s.namespace))
}
