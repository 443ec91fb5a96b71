// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Behaviors F127, F129 of test/behaviours: only the status records that nothing was inferred, until a refresh.
func TestInstancetype_RecordsThatNothingWasInferred(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.images["boot"] = &vmv1alpha1.VirtualMachineImage{}
	spec := "{image: {name: boot}, cpu: {sockets: 1}, memory: {guest: 1Gi}, instancetype: {inferFromVolume: image, inferFromVolumeFailurePolicy: Ignore}}"
	vm := mustSync(t, f, vmOf(t, spec))
	ignore := vmv1alpha1.InferFromVolumeFailureIgnore
	want := &vmv1alpha1.InstancetypeRef{InferFromVolume: "image", InferFromVolumeFailurePolicy: &ignore}
	if diff := cmp.Diff(want, vm.Status.InstancetypeRef); diff != "" {
		t.Errorf("reference (-want +got):\n%s", diff)
	}
	c := condition(t, vm, "InstancetypeReady")
	if c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, `nothing was inferred from volume "image"`) {
		t.Errorf("condition %+v, want True and that nothing was inferred", c)
	}
	f.images["boot"].Labels = map[string]string{vmv1alpha1.LabelDefaultInstancetype: "small"}
	if again := mustSync(t, f, vm); !cmp.Equal(vm, again, quantities) {
		t.Errorf("the new label changed (-before +after):\n%s", cmp.Diff(vm, again, quantities))
	}
	after := mustSync(t, f, instancetype.ClearPins(vm, it))
	if ref := after.Status.InstancetypeRef; ref == nil || ref.Name != "small" || after.Status.Resources.VCPUs != 2 {
		t.Errorf("after a refresh reference %+v and resources %+v, want the values of small", ref, after.Status.Resources)
	}
	if diff := cmp.Diff(vmOf(t, spec).Spec, after.Spec, quantities); diff != "" {
		t.Errorf("spec was changed (-want +got):\n%s", diff)
	}
}
