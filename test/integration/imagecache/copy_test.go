// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagecache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestAnImageIsCopiedAndGoesWithItsCache(t *testing.T) {
	w := newWorld(t)
	w.start("a")
	w.create("photon", on("LocalDS_0"))
	c := w.until("photon", "is ready", ready)
	l := c.Status.Locations[0]
	if l.Progress != 100 || len(l.Files) != 1 || l.DatastoreID == "" || l.ItemID == "" || l.ContentVersion == "" || l.ContentSize == nil {
		t.Errorf("location %+v is not complete", l)
	}
	if diff := cmp.Diff([]string{l.Directory + "/"}, prefixed(w.directories("LocalDS_0"))); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	for _, kind := range []string{vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady, vmv1alpha1.ConditionFilesReady} {
		if !isTrue(c, kind) {
			t.Errorf("%s is not True: %+v", kind, c.Status.Conditions)
		}
	}
	if err := w.VmV1alpha1().VirtualMachineImageCaches().Delete(t.Context(), "photon", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.gone("photon")
	if left := w.below("LocalDS_0"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
