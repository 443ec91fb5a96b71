// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// serving returns the Claims of a cluster that serves versions of the contract. Without versions it serves none.
func serving(t *testing.T, versions ...string) *Claims {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/"+Group || len(versions) == 0 {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: Group}
		for _, v := range versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: Group + "/" + v, Version: v})
		}
		_ = json.NewEncoder(w).Encode(group)
	}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupVersionResource]string{}
	for _, v := range versions {
		kinds[schema.GroupVersionResource{Group: Group, Version: v, Resource: "ipaddressclaims"}] = "IPAddressClaimList"
		kinds[schema.GroupVersionResource{Group: Group, Version: v, Resource: "ipaddresses"}] = "IPAddressList"
	}
	return New(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds), client)
}

func TestClaims_UseTheNewestServedVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		served []string
		want   string
	}{
		"the newest":           {[]string{"v1beta1", "v1beta2"}, "v1beta2"},
		"the only":             {[]string{"v1alpha1", "v1beta1"}, "v1beta1"},
		"no supported version": {[]string{"v1alpha1", "v2"}, ""},
		"no kind":              {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serving(t, tc.served...).servedVersion(t.Context())
			var absent *NotServedError
			if got != tc.want || errors.As(err, &absent) != (tc.want == "") || err != nil && absent == nil {
				t.Errorf("version %q, error %v; want %q", got, err, tc.want)
			}
		})
	}
}

// The steps of one address. A process may end after each of them.
func TestClaims_ClaimAndReleaseAnAddressOnce(t *testing.T) {
	c, ctx := serving(t, "v1beta2"), t.Context()
	vm := vmNamed("web", "1")
	want := vmv1alpha1.ClaimedAddress{ClaimName: name(vm, "eth0", front), Interface: "eth0", Pool: front}
	claims, addresses := c.resource("v1beta2", "ipaddressclaims", "ns"), c.resource("v1beta2", "ipaddresses", "ns")
	for range 2 {
		var waits *WaitError
		if _, err := c.Ensure(ctx, vm, want); !errors.As(err, &waits) {
			t.Fatalf("error %v, want a WaitError", err)
		}
	}
	all, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("%d claims, error %v; want one", len(all.Items), err)
	}
	claim := &all.Items[0]
	if poolOf(claim) != front || !slices.Contains(claim.GetFinalizers(), Finalizer) || len(claim.GetOwnerReferences()) != 0 || claim.GetLabels()[UIDLabel] != "1" {
		t.Errorf("the claim is %v", claim.Object)
	}

	existing := address(t, "address: 192.0.2.5, prefix: 24, gateway: 192.0.2.1, claimRef: {name: "+want.ClaimName+"}, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: front}")
	existing.SetNamespace("ns")
	if _, err := addresses.Create(ctx, existing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(claim.Object, "a", "status", "addressRef", "name"); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Ensure(ctx, vm, want)
	if err != nil || got.Address != "192.0.2.5/24" || got.Gateway != "192.0.2.1" {
		t.Fatalf("got %+v, error %v", got, err)
	}
	kept, err := addresses.Get(ctx, "a", metav1.GetOptions{})
	if err != nil || !slices.Contains(kept.GetFinalizers(), Finalizer) {
		t.Errorf("the address has finalizers %v, error %v; want Slipway's", kept.GetFinalizers(), err)
	}

	other := vmNamed("web", "2")
	if err := c.Release(ctx, other, got); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Get(ctx, want.ClaimName, metav1.GetOptions{}); err != nil {
		t.Errorf("another virtual machine has released it: %v", err)
	}
	for range 2 {
		if err := c.Release(ctx, vm, got); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := claims.List(ctx, metav1.ListOptions{}); err != nil || len(all.Items) != 0 {
		t.Errorf("%d claims are left, error %v", len(all.Items), err)
	}
	if kept, err = addresses.Get(ctx, "a", metav1.GetOptions{}); err != nil || slices.Contains(kept.GetFinalizers(), Finalizer) {
		t.Errorf("the address has finalizers %v, error %v; want none of Slipway's", kept.GetFinalizers(), err)
	}
}

// If a user removes the finalizers of a claim, it is deleted, but its address still exists and can be found.
func TestClaims_ReleaseTheAddressOfADeletedClaim(t *testing.T) {
	c, ctx := serving(t, "v1beta1"), t.Context()
	existing := address(t, "address: 192.0.2.5, prefix: 24, claimRef: {name: gone}")
	existing.SetAPIVersion(Group + "/v1beta1")
	existing.SetNamespace("ns")
	existing.SetFinalizers([]string{Finalizer, "other"})
	addresses := c.resource("v1beta1", "ipaddresses", "ns")
	if _, err := addresses.Create(ctx, existing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(ctx, vmNamed("web", "1"), vmv1alpha1.ClaimedAddress{ClaimName: "gone", Address: "192.0.2.5/24"}); err != nil {
		t.Fatal(err)
	}
	if got, err := addresses.Get(ctx, "a", metav1.GetOptions{}); err != nil || !slices.Equal(got.GetFinalizers(), []string{"other"}) {
		t.Errorf("the address has finalizers %v, error %v; want only the other finalizer", got.GetFinalizers(), err)
	}
}

func TestClaims_ReleaseSucceedsWithoutTheContract(t *testing.T) {
	if err := serving(t).Release(t.Context(), vmNamed("web", "1"), vmv1alpha1.ClaimedAddress{ClaimName: "x", Address: "192.0.2.5/24"}); err != nil {
		t.Error(err)
	}
}
