// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
)

// injectPrefix is the prefix of the annotations that make cert-manager set spec.caBundle.
const injectPrefix = "cert-manager.io/inject-"

// trust sets spec.caBundle of one APIService. It does nothing if the APIService does not exist.
func (m *Manager) trust(ctx context.Context, name string, trusted []byte) error {
	found, err := apiservices.Read(ctx, m.options.Dynamic, name)
	if err != nil || found == nil {
		return err
	}
	spec, left := correction(found, m.options.Namespace, m.options.Service, trusted)
	log := klog.FromContext(ctx).WithValues("apiservice", name)
	if left != "" {
		log.Info("Did not change spec.caBundle", "reason", left)
	}
	if spec == nil {
		return nil
	}
	if err := found.Patch(ctx, map[string]any{"spec": spec}); err != nil {
		return fmt.Errorf("correcting spec.caBundle: %w", err)
	}
	log.Info("Corrected spec.caBundle")
	return nil
}

// correction returns the spec fields to change, or nil if there is nothing to change. left is the reason if the
// APIService needs a change that the server must not make.
func correction(is *apiservices.APIService, namespace, service string, trusted []byte) (spec map[string]any, left string) {
	want := base64.StdEncoding.EncodeToString(trusted)
	if is.Spec.CABundle == want && !is.Spec.InsecureSkipTLSVerify {
		return nil, ""
	}
	if !is.RefersTo(namespace, service) {
		return nil, fmt.Sprintf("it does not refer to Service %s/%s", namespace, service)
	}
	for key := range is.Annotations {
		if strings.HasPrefix(key, injectPrefix) {
			return nil, fmt.Sprintf("cert-manager sets it because of the annotation %s: remove the annotation, or set --tls-cert-file of the server", key)
		}
	}
	return map[string]any{"caBundle": want, "insecureSkipTLSVerify": false}, ""
}

// step performs the next step of a CA replacement if one is due.
func (m *Manager) step(ctx context.Context) error {
	o, now := &m.options, m.options.Clock.Now()
	secrets := o.Host.CoreV1().Secrets(o.Namespace)
	secret, err := authority.Secret(ctx, o.Host, o.Namespace, SecretName, now)
	if err != nil {
		return err
	}
	next, err := authority.Next(SecretName, secret.Data, now)
	if err != nil {
		return fmt.Errorf("read the CA in Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	if next == nil {
		return nil
	}
	secret = secret.DeepCopy()
	secret.Data = next
	// The resource version is that of the read Secret, so only one of several replicas performs the step.
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: apiservices.FieldManager}); err != nil {
		return fmt.Errorf("replacing the certificate authority in Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	klog.FromContext(ctx).Info("Changed the certificate authority of serving certificates", "secret", klog.KRef(o.Namespace, SecretName))
	return nil
}
