// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"testing"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

const apiservicesName = "v1alpha1.vm.slipway.dev"

// newHost returns a client with an APIService whose condition has a field that the server does not know.
func newHost() *dynamicfake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{apiservices.Resource: "APIServiceList"}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": apiservicesName, "resourceVersion": "7"},
		"spec":   map[string]any{"service": map[string]any{"namespace": "ns", "name": "server"}, "versionPriority": int64(15)},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "of-a-later-version": "x"}}},
	}})
}

func read(t *testing.T, host *dynamicfake.FakeDynamicClient) *apiservices.APIService {
	t.Helper()
	is, err := apiservices.Read(t.Context(), host, apiservicesName)
	if err != nil || is == nil {
		t.Fatal(is, err)
	}
	return is
}

func TestAPIService_PatchContainsTheReadVersion(t *testing.T) {
	host := newHost()
	is := read(t, host)
	if !is.RefersTo("ns", "server") || is.RefersTo("ns", "another") || is.RefersTo("other", "server") {
		t.Errorf("the Service is %+v", is.Spec.Service)
	}
	var patch string
	var answer error
	host.PrependReactor("patch", "apiservices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch = string(a.(clienttesting.PatchAction).GetPatch())
		return true, &unstructured.Unstructured{}, answer
	})
	gone := apierrors.NewNotFound(apiservices.Resource.GroupResource(), apiservicesName)
	conflict := apierrors.NewConflict(apiservices.Resource.GroupResource(), apiservicesName, nil)
	for _, answer = range []error{nil, gone, conflict} {
		err := is.Patch(t.Context(), map[string]any{"spec": map[string]any{"caBundle": "x"}})
		if want := `{"metadata":{"resourceVersion":"7"},"spec":{"caBundle":"x"}}`; patch != want {
			t.Errorf("got patch %s, want %s", patch, want)
		}
		if apierrors.IsConflict(answer) != apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			t.Errorf("got error %v for %v", err, answer)
		}
	}
}

func TestAPIService_ReadReturnsNilIfNotFound(t *testing.T) {
	if is, err := apiservices.Read(t.Context(), newHost(), "v1.gone"); is != nil || err != nil {
		t.Errorf("%+v, %v", is, err)
	}
}
