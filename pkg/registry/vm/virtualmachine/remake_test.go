// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestRemake_KeepsTheUIDAndTheIdentityOfTheVM(t *testing.T) {
	const lost = "6d0c1e5c-8a3f-4f0e-9b1a-1f0a2c9d7e55"
	ref, preference := &vmv1alpha1.InstancetypeRef{Name: "u1.small"}, &vmv1alpha1.PreferenceRef{Name: "linux"}
	given := func(uid string, generation int64) *vmv1alpha1.VirtualMachine {
		return &vmv1alpha1.VirtualMachine{
			Spec:       vmv1alpha1.VirtualMachineSpec{ClassName: "small"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "web", UID: "new", Generation: generation, Annotations: map[string]string{vmv1alpha1.AnnotationRecovered: uid}},
			Status: vmv1alpha1.VirtualMachineStatus{
				Zone: "east", UniqueID: "vm-7", BiosUUID: "b", InstanceUUID: lost, InstancetypeRef: ref, PreferenceRef: preference,
				Phase: vmv1alpha1.PhaseRunning, PowerState: vmv1alpha1.PoweredOn, Conditions: []metav1.Condition{{Type: "Ready"}}, ObservedGeneration: 7,
			},
		}
	}
	made := given(lost, 7)
	strategy().PrepareForCreate(t.Context(), made)
	want := vmv1alpha1.VirtualMachineStatus{
		ObservedGeneration: -1, Zone: "east", UniqueID: "vm-7", BiosUUID: "b", InstanceUUID: lost, InstancetypeRef: ref, PreferenceRef: preference,
	}
	if diff := cmp.Diff(want, made.Status); diff != "" || made.UID != lost || made.Generation != 7 {
		t.Errorf("UID %s, generation %d, status (-want +got):\n%s", made.UID, made.Generation, diff)
	}
	if errs := strategy().Validate(t.Context(), made); len(errs) != 0 {
		t.Errorf("rejected: %v", errs)
	}
	for name, bad := range map[string]*vmv1alpha1.VirtualMachine{
		"no UUID":             given("vm-7", 7),
		"a UUID in braces":    given("{"+lost+"}", 7),
		"in upper case":       given("6D0C1E5C-8A3F-4F0E-9B1A-1F0A2C9D7E55", 7),
		"nothing":             given("", 7),
		"without generation":  given(lost, 0),
		"negative generation": given(lost, -1),
	} {
		strategy().PrepareForCreate(t.Context(), bad)
		if bad.UID != "new" || bad.Generation != 1 || bad.Status.UniqueID != "" {
			t.Errorf("%s: UID %s, generation %d, unique ID %q; want those of a new object", name, bad.UID, bad.Generation, bad.Status.UniqueID)
		}
		errs := strategy().Validate(t.Context(), bad)
		if len(errs) != 1 || errs[0].Field != "metadata.annotations["+vmv1alpha1.AnnotationRecovered+"]" {
			t.Errorf("%s: errors %v, want one about the annotation", name, errs)
		}
	}
}
