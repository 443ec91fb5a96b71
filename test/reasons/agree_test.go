// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAgree_FindsObjectsWithDifferentResults(t *testing.T) {
	for name, tc := range map[string]struct {
		observed   int64
		conditions map[string]string
		want       bool
	}{
		"ready":                        {2, map[string]string{"Ready": "True"}, true},
		"not ready":                    {2, map[string]string{"Ready": "False"}, true},
		"ready before the last change": {1, map[string]string{"Ready": "True"}, true},
		"ready and changing":           {2, map[string]string{"Ready": "True", "Reconciling": "True"}, true},
		"stalled":                      {2, map[string]string{"Ready": "False", "Stalled": "True"}, true},
		// kstatus only knows Ready as a summarizing condition.
		"kstatus ignores Complete": {2, map[string]string{"Complete": "False"}, false},
	} {
		all := []any{}
		for kind, status := range tc.conditions {
			all = append(all, map[string]any{"type": kind, "status": status, "reason": "R", "message": "m"})
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "vm.slipway.dev/v1alpha1", "kind": "VirtualMachine", "metadata": map[string]any{"name": "a", "generation": int64(2)},
			"status": map[string]any{"observedGeneration": tc.observed, "conditions": all},
		}}
		if err := Agree(o); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
