// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/authority"
)

// fieldManager owns spec.caBundle.
const fieldManager = "slipway-apiserver"

// injectPrefix begins the annotations by which cert-manager is told to fill spec.caBundle.
const injectPrefix = "cert-manager.io/inject-"

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// apiService is what is read of one.
type apiService struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Service               *struct{ Namespace, Name string } `json:"service"`
		CABundle              string                            `json:"caBundle"`
		InsecureSkipTLSVerify bool                              `json:"insecureSkipTLSVerify"`
	} `json:"spec"`
}

// trust makes one APIService trust what is to be trusted. One that is not there is nothing to
// mend: somebody has taken it away.
func (m *Manager) trust(ctx context.Context, name string, trusted []byte) error {
	client := m.options.Dynamic.Resource(apiServices)
	found, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading APIService %s: %w", name, err)
	}
	patch, left, err := correction(found, m.options.Namespace, m.options.Service, trusted)
	if err != nil {
		return fmt.Errorf("APIService %s: %w", name, err)
	}
	log := klog.FromContext(ctx).WithValues("apiservice", name)
	if left != "" {
		log.Info("spec.caBundle is left alone", "reason", left)
	}
	if patch == nil {
		return nil
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("writing spec.caBundle of APIService %s: %w", name, err)
	}
	log.Info("spec.caBundle is set right")
	return nil
}

// correction is the patch that an APIService needs, nil if it is right, and why it is left as
// it is otherwise.
func correction(found *unstructured.Unstructured, namespace, service string, trusted []byte) (patch []byte, left string, err error) {
	text, err := found.MarshalJSON()
	if err != nil {
		return nil, "", fmt.Errorf("encoding it: %w", err)
	}
	var is apiService
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, "", fmt.Errorf("decoding it: %w", err)
	}
	want := base64.StdEncoding.EncodeToString(trusted)
	if is.Spec.CABundle == want && !is.Spec.InsecureSkipTLSVerify {
		return nil, "", nil
	}
	if s := is.Spec.Service; s == nil || s.Namespace != namespace || s.Name != service {
		return nil, fmt.Sprintf("it does not lead to the Service %s/%s", namespace, service), nil
	}
	for key := range is.Annotations {
		if strings.HasPrefix(key, injectPrefix) {
			return nil, fmt.Sprintf("its annotation %s tells cert-manager to fill it: take that away, or give the server its certificate by --tls-cert-file", key), nil
		}
	}
	patch, err = json.Marshal(map[string]any{
		// Of two who mend it at once one reads again.
		"metadata": map[string]any{"resourceVersion": found.GetResourceVersion()},
		"spec":     map[string]any{"caBundle": want, "insecureSkipTLSVerify": false},
	})
	if err != nil {
		return nil, "", fmt.Errorf("encoding the correction: %w", err)
	}
	return patch, "", nil
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
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("replacing the authority in the Secret %s/%s: %w", o.Namespace, SecretName, err)
	}
	klog.FromContext(ctx).Info("The authority of serving certificates has changed", "secret", klog.KRef(o.Namespace, SecretName))
	return nil
}
