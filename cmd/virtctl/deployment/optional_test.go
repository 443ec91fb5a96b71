// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-dev/slipway/test/kustomized"
)

// identities are what objects are found by, in order.
func identities(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, u := range objects {
		all = append(all, u.GetAPIVersion()+" "+u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestOptionalIsWhatComponentsMakeBesideTheBase(t *testing.T) {
	const deploy = "../../../artifacts/deploy/"
	built := func(dir string) []*unstructured.Unstructured {
		all, err := kustomized.Build(deploy + dir)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	overlays, err := os.ReadDir(deploy + "overlays")
	if err != nil || len(overlays) == 0 {
		t.Fatalf("%d overlays: %v", len(overlays), err)
	}
	all := built("cluster-api")
	for _, overlay := range overlays {
		all = append(all, built("overlays/"+overlay.Name())...)
	}
	base := identities(built("base"))
	beside := slices.DeleteFunc(identities(all), func(id string) bool { return slices.Contains(base, id) })
	if diff := cmp.Diff(beside, identities(Optional())); diff != "" {
		t.Errorf("what is made beside the base is not what is removed (-made +removed):\n%s", diff)
	}
}
