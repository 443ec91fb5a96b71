// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestFailureDomains_ReadsBothContracts(t *testing.T) {
	want := []clusterv1alpha1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true), Attributes: map[string]string{"x": "y"}}, {Name: "b"}}
	for name, status := range map[string]any{
		"v1beta2": []any{map[string]any{"name": "b"}, map[string]any{"name": "a", "controlPlane": true, "attributes": map[string]any{"x": "y"}}},
		"v1beta1": map[string]any{"b": map[string]any{}, "a": map[string]any{"controlPlane": true, "attributes": map[string]any{"x": "y"}}},
	} {
		got, err := FailureDomains(&object{Object: map[string]any{"status": map[string]any{"failureDomains": status}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, err := FailureDomains(&object{Object: map[string]any{}}); got != nil || err != nil {
		t.Errorf("without failure domains: %v, %v", got, err)
	}
	many := map[string]any{}
	for i := range maxDomains + 1 {
		many[strings.Repeat("x", i+1)] = map[string]any{}
	}
	attributes := map[string]any{}
	for i := range bounds.MaxItems + 1 {
		attributes[strings.Repeat("x", i+1)] = "y"
	}
	for name, bad := range map[string]any{
		"a string": "a", "a list of strings": []any{"a"}, "a map of strings": map[string]any{"a": "b"}, "no name": []any{map[string]any{}},
		"duplicate name": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}, "too many": many,
		"wrong type": []any{map[string]any{"name": "a", "controlPlane": "yes"}}, "wrong attributes": []any{map[string]any{"name": "a", "attributes": []any{}}},
		"long name": []any{map[string]any{"name": strings.Repeat("x", maxName+1)}}, "invalid characters": []any{map[string]any{"name": "a\x00"}},
		"long attribute":  []any{map[string]any{"name": "a", "attributes": map[string]any{"x": strings.Repeat("y", bounds.MaxText+1)}}},
		"many attributes": []any{map[string]any{"name": "a", "attributes": attributes}},
	} {
		if got, err := FailureDomains(&object{Object: map[string]any{"status": map[string]any{"failureDomains": bad}}}); err == nil || !strings.Contains(err.Error(), "status.failureDomains") {
			t.Errorf("%s: %v, %v, want an error with the path", name, got, err)
		}
	}
}
