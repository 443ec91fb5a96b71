// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// peer is the custom resource with the schema of our VirtualMachine.
var peer = schema.GroupVersionResource{Group: "peer.example.com", Version: "v1alpha1", Resource: "virtualmachines"}

// served is the time limit until a definition is served.
const served = time.Minute

// makePeer creates the custom resource with the schema that the server at direct publishes for its own kind, and waits
// until it is served.
func makePeer(ctx context.Context, config, direct *rest.Config) error {
	d, err := discovery.NewDiscoveryClientForConfig(direct)
	if err != nil {
		return fmt.Errorf("making the client of the schema: %w", err)
	}
	data, err := d.RESTClient().Get().AbsPath("/openapi/v3/apis", vmv1alpha1.GroupName, "v1alpha1").Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("reading our schema: %w", err)
	}
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return fmt.Errorf("reading our schema: %w", err)
	}
	machine := map[string]any{"type": "object", "properties": map[string]any{}}
	for name, s := range document.Components.Schemas {
		if strings.HasSuffix(name, ".v1alpha1.VirtualMachine") {
			for _, part := range []string{"spec", "status"} {
				machine["properties"].(map[string]any)[part] = structural(s.(map[string]any)["properties"].(map[string]any)[part], document.Components.Schemas)
			}
		}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": peer.Resource + "." + peer.Group},
		"spec": map[string]any{
			"group": peer.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": peer.Resource, "singular": "virtualmachine", "kind": "VirtualMachine"},
			"versions": []any{map[string]any{
				"name": peer.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": machine}, "subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	}}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the dynamic client: %w", err)
	}
	definitions := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("defining the custom resource: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, served, true, func(ctx context.Context) (bool, error) {
		_, err := c.Resource(peer).Namespace("default").List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the custom resource: %w", err)
	}
	return nil
}

// structural converts an OpenAPI schema to a structural one: without references and defaults, which our server has in
// code.
func structural(s any, all map[string]any) any {
	switch s := s.(type) {
	case []any:
		out := make([]any, len(s))
		for i := range s {
			out[i] = structural(s[i], all)
		}
		return out
	case map[string]any:
		if one, ok := s["allOf"].([]any); ok && len(one) == 1 {
			return structural(one[0], all)
		}
		if ref, ok := s["$ref"].(string); ok {
			return structural(all[ref[strings.LastIndex(ref, "/")+1:]], all)
		}
		if either, ok := s["oneOf"].([]any); ok && len(either) == 2 {
			return map[string]any{"x-kubernetes-int-or-string": true} // a quantity
		}
		out := maps.Clone(s)
		delete(out, "default")
		delete(out, "x-kubernetes-patch-strategy")
		delete(out, "x-kubernetes-patch-merge-key")
		delete(out, "x-kubernetes-group-version-kind")
		delete(out, "x-kubernetes-unions")
		for key, value := range out {
			out[key] = structural(value, all)
		}
		return out
	}
	return s
}
