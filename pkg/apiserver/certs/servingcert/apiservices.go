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

// injectPrefix begins the annotations by which cert-manager is told to fill spec.caBundle.
const injectPrefix = "cert-manager.io/inject-"

// trust makes one APIService trust what is to be trusted. One that is not there is nothing to
// mend.
func (m *Manager) trust(ctx context.Context, name string, trusted []byte) error {
	found, err := apiservices.Read(ctx, m.options.Dynamic, name)
	if err != nil || found == nil {
		return err
	}
	spec, left := correction(found, m.options.Namespace, m.options.Service, trusted)
	log := klog.FromContext(ctx).WithValues("apiservice", name)
	if left != "" {
		log.Info("spec.caBundle is left alone", "reason", left)
	}
	if spec == nil {
		return nil
	}
	if err := found.Patch(ctx, map[string]any{"spec": spec}); err != nil {
		return fmt.Errorf("correcting spec.caBundle: %w", err)
	}
	log.Info("spec.caBundle is set right")
	return nil
}

// correction is what an APIService needs in its spec, nil if it is right, and why it is left as
// it is otherwise.
func correction(is *apiservices.APIService, namespace, service string, trusted []byte) (spec map[string]any, left string) {
	want := base64.StdEncoding.EncodeToString(trusted)
	if is.Spec.CABundle == want && !is.Spec.InsecureSkipTLSVerify {
		return nil, ""
	}
	if !is.LeadsTo(namespace, service) {
		return nil, fmt.Sprintf("it does not lead to the Service %s/%s", namespace, service)
	}
	for key := range is.Annotations {
		if strings.HasPrefix(key, injectPrefix) {
			return nil, fmt.Sprintf("its annotation %s tells cert-manager to fill it: take that away, or give the server its certificate by --tls-cert-file", key)
		}
	}
	return map[string]any{"caBundle": want, "insecureSkipTLSVerify": false}, ""
}

// step makes the next step of a replacement of the authority, if one is due.
func (m *Manager) step(ctx context.Context) error {
	o, now := &m.options, m.options.Clock.Now()
	secrets := o.Host.CoreV1().Secrets(o.Namespace)
	secret, err := authority.Secret(ctx, o.Host, o.Namespace, SecretName, now)
	if err != nil {
		return err
	}
	next, err := authority.Next(SecretName, secret.Data, now)
	if err != nil {
		return fmt.Errorf("the Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	if next == nil {
		return nil
	}
	secret = secret.DeepCopy()
	secret.Data = next
	// Its version is that which was read, so that of several replicas one makes the step.
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: apiservices.FieldManager}); err != nil {
		return fmt.Errorf("replacing the authority in the Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	klog.FromContext(ctx).Info("The authority of serving certificates has changed", "secret", klog.KRef(o.Namespace, SecretName))
	return nil
}
