// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestImageCache_CopiesAnImageAndDeletesItWithTheCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("a")
	text, err := os.ReadFile("../../artifacts/examples/imagecache.yaml")
	if err != nil {
		t.Fatal(err)
	}
	example := &vmv1alpha1.VirtualMachineImageCache{}
	if err := yaml.UnmarshalStrict(text, example); err != nil {
		t.Fatal(err)
	}
	if _, err := w.VmV1alpha1().VirtualMachineImageCaches().Create(t.Context(), example, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := w.until(example.Name, "is ready", ready)
	if c.Status.ObservedGeneration != 1 {
		t.Errorf("generation %d was reconciled, want 1", c.Status.ObservedGeneration)
	}
	l := c.Status.Locations[0]
	if l.Progress != 100 || len(l.Files) != 1 || l.DatastoreID == "" || l.ItemID == "" || l.ContentVersion == "" || l.ContentSize == nil {
		t.Errorf("location %+v is not complete", l)
	}
	if diff := cmp.Diff([]string{l.Directory + "/"}, datastorePaths(w.directories("LocalDS_0"))); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	for _, kind := range []string{vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady, vmv1alpha1.ConditionFilesReady} {
		if !isTrue(c, kind) {
			t.Errorf("%s is not True: %+v", kind, c.Status.Conditions)
		}
	}
	w.delete(example.Name)
	w.awaitDeleted(example.Name)
	if left := w.below("LocalDS_0"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
