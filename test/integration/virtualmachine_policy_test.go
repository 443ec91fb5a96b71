// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/test/simulated"
)

// inlineSize is the size in the spec.
func inlineSize(vm *vmv1alpha1.VirtualMachine) (cpus int32, memory string) {
	if vm.Spec.CPU == nil || vm.Spec.Memory == nil || vm.Spec.Memory.Guest == nil {
		return 0, ""
	}
	return max(vm.Spec.CPU.Sockets, 1) * max(vm.Spec.CPU.Cores, 1) * max(vm.Spec.CPU.Threads, 1), vm.Spec.Memory.Guest.String()
}

func expanded(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Spec.Instancetype == nil && vm.Status.InstancetypeRef == nil && isVMReady(vm)
}

// The policies are F131 and F132.
func TestInstancetypePolicies_ExpandReferences(t *testing.T) {
	w := newVMWorld(t)
	w.size(2, "2Gi")
	w.image()
	w.create("old")
	old := w.until("old", "is ready", isVMReady)
	if cpus, _ := inlineSize(old); cpus != 0 || old.Status.InstancetypeRef == nil {
		t.Fatalf("policy Reference made the spec %s", vmAsJSON(old.Spec))
	}

	w.stop()
	w.policy = synchronizer.PolicyExpand
	w.start()
	w.create("new")
	vm := w.until("new", "is expanded", expanded)
	if cpus, memory := inlineSize(vm); cpus != 2 || memory != "2Gi" {
		t.Errorf("the expanded spec has %d CPUs and %q, want 2 and 2Gi", cpus, memory)
	}
	if old := w.until("old", "is ready", isVMReady); old.Spec.Instancetype == nil || old.Status.InstancetypeRef == nil {
		t.Errorf("policy Expand expanded a VM that has a revision: %s", vmAsJSON(old.Spec))
	}

	w.stop()
	w.policy = synchronizer.PolicyExpandAll
	w.start()
	vm = w.until("old", "is expanded", expanded)
	if cpus, memory := inlineSize(vm); cpus != 2 || memory != "2Gi" {
		t.Errorf("the expanded spec has %d CPUs and %q, want 2 and 2Gi", cpus, memory)
	}
	simulated.Eventually(t, "no revision is left", func() bool { return cmp.Equal([]string(nil), w.revisions()) })
}
