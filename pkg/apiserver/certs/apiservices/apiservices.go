// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiservices

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// FieldManager owns what the server writes into the host cluster.
const FieldManager = "slipway-apiserver"

// Resource is that of APIServices.
var Resource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// APIService is what is read of one.
type APIService struct {
	metav1.ObjectMeta `json:"metadata"`
	// Spec says where it leads, and whom it trusts.
	Spec Spec `json:"spec"`

	client dynamic.ResourceInterface
}

// Spec says where an APIService leads, and whom it trusts.
type Spec struct {
	// Service is nil if it leads to none.
	Service *struct{ Namespace, Name string } `json:"service"`
	// CABundle are the authorities, in base64.
	CABundle string `json:"caBundle"`
	// InsecureSkipTLSVerify is true if anybody is trusted.
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify"`
}

// Read reads the APIService of a name, nil if there is none: somebody has taken it away.
func Read(ctx context.Context, objects dynamic.Interface, name string) (*APIService, error) {
	client := objects.Resource(Resource)
	found, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading APIService %s: %w", name, err)
	}
	text, err := found.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding APIService %s: %w", name, err)
	}
	is := &APIService{client: client}
	if err := json.Unmarshal(text, is); err != nil {
		return nil, fmt.Errorf("decoding APIService %s: %w", name, err)
	}
	return is, nil
}

// LeadsTo is true if it leads to a Service.
func (a *APIService) LeadsTo(namespace, service string) bool {
	s := a.Spec.Service
	return s != nil && s.Namespace == namespace && s.Name == service
}

// Patch writes parts of it, by a merge patch, or returns a conflict if somebody else has
// changed it since it was read. That it is gone is no error.
func (a *APIService) Patch(ctx context.Context, parts map[string]any) error {
	parts = maps.Clone(parts)
	parts["metadata"] = map[string]any{"resourceVersion": a.ResourceVersion}
	patch, err := json.Marshal(parts)
	if err != nil {
		return fmt.Errorf("encoding a change of APIService %s: %w", a.Name, err)
	}
	_, err = a.client.Patch(ctx, a.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing APIService %s: %w", a.Name, err)
	}
	return nil
}
