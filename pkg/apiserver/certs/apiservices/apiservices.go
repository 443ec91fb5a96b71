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

// FieldManager is the field manager of the server's writes to the management cluster.
const FieldManager = "slipway-apiserver"

// Resource is the resource of APIServices.
var Resource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// APIService contains the fields of an APIService that the server uses.
type APIService struct {
	metav1.ObjectMeta `json:"metadata"`
	// Spec is the backend and its trusted CAs.
	Spec Spec `json:"spec"`

	client dynamic.ResourceInterface
}

// Spec is the backend of an APIService and its trusted CAs.
type Spec struct {
	// Service is the backend; nil for an APIService that kube-apiserver serves itself.
	Service *struct{ Namespace, Name string } `json:"service"`
	// CABundle contains the trusted CA certificates in base64.
	CABundle string `json:"caBundle"`
	// InsecureSkipTLSVerify disables the verification of the serving certificate.
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify"`
}

// Read returns the APIService with the given name, or nil if it does not exist.
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

// RefersTo reports whether the APIService refers to the given Service.
func (a *APIService) RefersTo(namespace, service string) bool {
	s := a.Spec.Service
	return s != nil && s.Namespace == namespace && s.Name == service
}

// Patch changes parts of the APIService with a merge patch. It returns a conflict if another client has changed the
// object since it was read. It returns nil if the object has been deleted.
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
