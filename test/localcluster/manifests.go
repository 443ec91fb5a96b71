// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/artifacts"
)

const (
	fieldManager = "slipway-dev"
	// retryInterval is the pause between two attempts.
	retryInterval = 50 * time.Millisecond
	// inClusterManifest runs the server in Pods, which this environment does not have.
	inClusterManifest = "deploy/base/50-deployment.yaml"
)

// deployment returns artifacts/deploy adapted to loopback: the APIServices trust ca, unless it is nil, and use port,
// with a Service that is an alias of 127.0.0.1.
func deployment(ca []byte, port int) ([]*unstructured.Unstructured, error) {
	all, err := artifacts.Objects(func(file string) bool { return file == inClusterManifest })
	if err != nil {
		return nil, err
	}
	var objects, apiServices []*unstructured.Unstructured
	for _, u := range all {
		if u.GetKind() != "APIService" {
			objects = append(objects, u)
			continue
		}
		apiServices = append(apiServices, u)
		// The aggregator uses this port, because an ExternalName Service has none.
		err := unstructured.SetNestedField(u.Object, int64(port), "spec", "service", "port")
		if err == nil && ca != nil {
			err = unstructured.SetNestedField(u.Object, base64.StdEncoding.EncodeToString(ca), "spec", "caBundle")
		}
		if err != nil {
			return nil, fmt.Errorf("adapting APIService %s: %w", u.GetName(), err)
		}
	}
	// The aggregator needs the Service as soon as it has received an APIService.
	return append(append(objects, loopbackService()), apiServices...), nil
}

// loopbackService resolves to 127.0.0.1, an address that Endpoints and EndpointSlices cannot contain.
func loopbackService() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": serviceName, "namespace": namespace},
		"spec":     map[string]any{"type": "ExternalName", "externalName": loopback},
	}}
}

// apiServices returns the names of the APIServices in objects.
func apiServices(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, u := range objects {
		if u.GetKind() == "APIService" {
			names = append(names, u.GetName())
		}
	}
	return names
}

// unavailable returns the reason why an APIService cannot be used, or an empty string if it can.
func unavailable(apiService *unstructured.Unstructured) string {
	conditions, _, err := unstructured.NestedSlice(apiService.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != "Available" {
			continue
		}
		if c["status"] == "True" {
			return ""
		}
		return fmt.Sprintf("%v: %v", c["reason"], c["message"])
	}
	return "it has no condition Available yet"
}

// apply creates or updates objects in their order by server-side apply. It retries errors that a new server returns
// temporarily, such as unknown kinds and namespaces, until ctx is done.
func apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	for _, u := range objects {
		data, err := json.Marshal(u)
		if err != nil {
			return fmt.Errorf("encoding %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		err = retry(ctx, func() error {
			m, err := mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
			if err != nil {
				mapper.Reset()
				return err
			}
			resource := client.Resource(m.Resource)
			target := dynamic.ResourceInterface(resource)
			if m.Scope.Name() == meta.RESTScopeNameNamespace {
				target = resource.Namespace(u.GetNamespace())
			}
			_, err = target.Patch(ctx, u.GetName(), types.ApplyPatchType, data,
				metav1.PatchOptions{FieldManager: fieldManager, Force: ptr.To(true)})
			return err
		})
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// retry calls f until it succeeds, fails with a permanent error, or ctx is done.
func retry(ctx context.Context, f func() error) error {
	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()
	for {
		err := f()
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// passing reports whether a server returns the error only during startup.
func passing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) ||
		discovery.IsGroupDiscoveryFailedError(err) || apierrors.IsInternalError(err)
}
