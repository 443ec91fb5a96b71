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

// LimitSecrets returns host, which reads no Secrets but those of the allowed namespaces.
func LimitSecrets(host kubernetes.Interface, allowed []string) kubernetes.Interface {
	return limitedHost{Interface: host, allowed: allowed}
}

// limitedHost is a client of the management cluster that reads Secrets of some namespaces only.
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

// unreadSecrets are those of a namespace that the server does not read. The embedded interface
// stands for requests that the server does not send.
type unreadSecrets struct {
	typedcorev1.SecretInterface
	namespace string
}

// Get implements typedcorev1.SecretInterface.
func (s unreadSecrets) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	return nil, apierrors.NewForbidden(corev1.Resource("secrets"), name,
		fmt.Errorf("the server does not read Secrets of namespace %q: --secret-namespaces does not name it", s.namespace))
}
