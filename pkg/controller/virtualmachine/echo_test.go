// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestOnlyTheEchoOfOurOwnStatusWriteIsNoNews(t *testing.T) {
	base := func() *vmv1alpha1.VirtualMachine {
		vm := fresh()
		vm.ResourceVersion = "7"
		return vm
	}
	written := func() *vmv1alpha1.VirtualMachine {
		vm := base()
		vm.Status.Phase = vmv1alpha1.PhaseRunning
		return vm
	}
	stored := func(change func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
		vm := written()
		vm.ResourceVersion = "8"
		change(vm)
		return vm
	}
	same := func(*vmv1alpha1.VirtualMachine) {}
	for name, c := range map[string]struct {
		from, to *vmv1alpha1.VirtualMachine
		before   func(*echoes)
		want     bool
	}{
		"the echo":                       {from: base(), to: stored(same), want: true},
		"a second time":                  {from: base(), to: stored(same), before: func(e *echoes) { e.heard(base(), stored(same)) }},
		"after the write failed":         {from: base(), to: stored(same), before: func(e *echoes) { e.forget(testKey) }},
		"from another version":           {from: stored(same), to: stored(same)},
		"another status":                 {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.NodeName = "esx-1" })},
		"somebody else's change of spec": {from: base(), to: base()},
		"of another virtual machine":     {from: base(), to: stored(named("other"))},
		// After a relist one update leads from the version before our write to one that has
		// the change of somebody else too.
		"with a change of spec":         {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState, vm.Generation = vmv1alpha1.PoweredOff, 2 })},
		"with a deletion":               {from: base(), to: stored(deleting)},
		"with a change of labels":       {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.Labels = map[string]string{"a": "b"} })},
		"with a change of annotations":  {from: base(), to: stored(annotated(vmv1alpha1.AnnotationPaused))},
		"with a change of finalizers":   {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.Finalizers = nil })},
		"with a change of owners":       {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.OwnerReferences = []metav1.OwnerReference{{Name: "group"}} })},
		"of another object of the name": {from: base(), to: stored(func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "uid-2" })},
	} {
		t.Run(name, func(t *testing.T) {
			var e echoes
			e.expect(written())
			if c.before != nil {
				c.before(&e)
			}
			if got := e.heard(c.from, c.to); got != c.want {
				t.Errorf("heard = %t, want %t", got, c.want)
			}
		})
	}
}

func TestFailedWriteIsNotExpectedToBeHeard(t *testing.T) {
	for name, fault := range map[string]error{
		"refused":  errors.New("no write today"),
		"conflict": apierrors.NewConflict(vmResource.GroupResource(), "vm", errors.New("changed")),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(), photon())
			h.api.fail["update virtualmachines/status"] = fault
			h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GuestID = "photon64Guest" })
			_, _ = h.tryPass()
			if len(h.own.expected) != 0 {
				t.Errorf("%d updates are expected, want none", len(h.own.expected))
			}
		})
	}
}
