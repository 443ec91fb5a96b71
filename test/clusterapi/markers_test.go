// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// deadline is many times the duration on an idle machine.
const deadline = 2 * time.Minute

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	machines    = vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines")
)

// probe is a kind whose APIService kube-apiserver creates. When that exists, kube-apiserver has also processed the
// earlier definitions.
const probe = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: probes.%[1]s.test}
spec:
  group: %[1]s.test
  scope: Namespaced
  names: {kind: Probe, plural: probes}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// apiService is the one of virtual machines.
var apiService = vmv1alpha1.SchemeGroupVersion.Version + "." + vmv1alpha1.GroupName

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if ctx.Err() == nil || last == nil {
			last = err // an interrupted call explains less than the previous error
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, deadline, last)
	}
}

func TestMarkers_DoNotReplaceSlipwaysKinds(t *testing.T) {
	for _, plural := range []string{"virtualmachines", "virtualmachinetemplates", "slipwayclusters"} {
		eventually(t, "the definition of "+plural+" is established", func(ctx context.Context) error {
			u, err := env.objects.Resource(definitions).Get(ctx, plural+"."+vmv1alpha1.GroupName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return condition(u, "Established", "True")
		})
	}
	seen(t, "before")
	servedBySlipway(t, "with the APIService before the definitions")

	ours := withoutAPIService(t)
	if _, err := env.objects.Resource(apiServices).Create(t.Context(), ours, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	answering(t)
	servedBySlipway(t, "with the definitions before the APIService")

	if err := env.Host.RestartHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen(t, "after")
	servedBySlipway(t, "after a restart of kube-apiserver")
}

// seen waits until kube-apiserver has registered a definition that was created after the markers.
func seen(t *testing.T, name string) {
	t.Helper()
	if err := env.Host.Apply(t.Context(), fmt.Appendf(nil, probe, name)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "definitions are registered", func(ctx context.Context) error {
		_, err := env.objects.Resource(apiServices).Get(ctx, "v1alpha1."+name+".test", metav1.GetOptions{})
		return err
	})
}

// withoutAPIService deletes Slipway's APIService and checks that no other one is created. It returns the APIService so
// that it can be created again.
func withoutAPIService(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	all := env.objects.Resource(apiServices)
	ours, err := all.Get(t.Context(), apiService, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Delete(t.Context(), apiService, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	seen(t, "without")
	if u, err := all.Get(t.Context(), apiService, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("in the place of the APIService: %v, %v", u, err)
	}
	again := &unstructured.Unstructured{Object: map[string]any{"spec": ours.Object["spec"]}}
	again.SetGroupVersionKind(ours.GroupVersionKind())
	again.SetName(apiService)
	return again
}

// answering waits until kube-apiserver forwards to slipway-apiserver.
func answering(t *testing.T) {
	t.Helper()
	eventually(t, "the APIService is available", func(ctx context.Context) error {
		if _, err := env.objects.Resource(machines).Namespace("default").List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		u, err := env.objects.Resource(apiServices).Get(ctx, apiService, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return condition(u, "Available", "True")
	})
}

// servedBySlipway checks that the APIService of Slipway is unchanged, and that slipway-apiserver answers.
func servedBySlipway(t *testing.T, when string) {
	t.Helper()
	u, err := env.objects.Resource(apiServices).Get(t.Context(), apiService, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	service, _, _ := unstructured.NestedString(u.Object, "spec", "service", "name")
	if service != "slipway-apiserver" || u.GetLabels()["kube-aggregator.kubernetes.io/automanaged"] != "" {
		t.Errorf("%s: APIService %s goes to Service %q and has the labels %v", when, apiService, service, u.GetLabels())
	}
	list, err := env.core.Discovery().ServerResourcesForGroupVersion(vmv1alpha1.SchemeGroupVersion.String())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "virtualmachines/expand-spec" }) {
		t.Errorf("%s: discovery has no subresource of ours: %v", when, list.APIResources)
	}
	// Only slipway-apiserver can validate a virtual machine.
	sizeless := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": vmv1alpha1.SchemeGroupVersion.String(), "kind": "VirtualMachine",
		"metadata": map[string]any{"name": "no-size"}, "spec": map[string]any{"image": map[string]any{"name": "photon-5"}},
	}}
	_, err = env.objects.Resource(machines).Namespace("default").Create(t.Context(), sizeless, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must define the size") {
		t.Errorf("%s: a virtual machine without a size: %v, want the refusal of slipway-apiserver", when, err)
	}
}

// condition returns an error unless a condition of an object has a status.
func condition(u *unstructured.Unstructured, kind, status string) error {
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			if c["status"] == status {
				return nil
			}
			return fmt.Errorf("%s is %v: %v: %v", kind, c["status"], c["reason"], c["message"])
		}
	}
	return fmt.Errorf("no condition %s: %v", kind, list)
}
