// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

func TestDeployment_IsAdaptedToLoopback(t *testing.T) {
	objects, err := deployment([]byte("CERT"), 4444)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	serviceSeen := false
	for _, u := range objects {
		kinds[u.GetKind()]++
		switch u.GetKind() {
		case "Service":
			serviceSeen = true
			if diff := cmp.Diff(map[string]any{"type": "ExternalName", "externalName": "127.0.0.1"}, u.Object["spec"]); diff != "" {
				t.Errorf("spec of the Service (-want +got):\n%s", diff)
			}
		case "APIService":
			if !serviceSeen {
				t.Errorf("APIService %s comes before its Service", u.GetName())
			}
			bundle, _, _ := unstructured.NestedString(u.Object, "spec", "caBundle")
			port, _, _ := unstructured.NestedInt64(u.Object, "spec", "service", "port")
			if want := base64.StdEncoding.EncodeToString([]byte("CERT")); bundle != want || port != 4444 {
				t.Errorf("APIService %s: caBundle %q, port %d, want %q and 4444", u.GetName(), bundle, port, want)
			}
		}
	}
	if kinds["Deployment"] != 0 {
		t.Error("the Deployment is applied, but nothing here runs Pods")
	}
	want := []string{"v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"}
	if diff := cmp.Diff(want, apiServices(objects)); diff != "" {
		t.Errorf("APIServices (-want +got):\n%s", diff)
	}
}

func TestQuickstart_HasOnlyKnownFields(t *testing.T) {
	objects, err := artifacts.Decode(artifacts.Quickstart)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, u := range objects {
		kinds = append(kinds, u.GetKind())
		typed, err := scheme.Scheme.New(u.GroupVersionKind())
		if err != nil {
			t.Errorf("%s: %v", u.GetKind(), err)
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, typed, true); err != nil {
			t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
	want := []string{"VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference", "ClusterVirtualMachineImage", "VirtualMachine"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestUnavailable_ReportsTheReason(t *testing.T) {
	withConditions := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	for name, tc := range map[string]struct {
		in   *unstructured.Unstructured
		want string
	}{
		"available":   {withConditions(map[string]any{"type": "Available", "status": "True"}), ""},
		"unavailable": {withConditions(map[string]any{"type": "Available", "status": "False", "reason": "R", "message": "m"}), "R: m"},
		"other":       {withConditions(map[string]any{"type": "Other", "status": "True"}), "it has no condition Available yet"},
		"none":        {&unstructured.Unstructured{Object: map[string]any{}}, "it has no condition Available yet"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unavailable(tc.in); got != tc.want {
				t.Errorf("unavailable = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRetries_OnlyOfTemporaryErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"namespace is not there yet": {apierrors.NewNotFound(resource, "x"), true},
		"server is not ready":        {apierrors.NewServiceUnavailable("starting"), true},
		"kind is not known yet":      {&meta.NoKindMatchError{}, true},
		"invalid object":             {apierrors.NewBadRequest("bad"), false},
		"no right":                   {apierrors.NewForbidden(resource, "x", errors.New("no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := passing(tc.err); got != tc.want {
				t.Errorf("passing = %v, want %v", got, tc.want)
			}
		})
	}
}
