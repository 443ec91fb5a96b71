// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// size returns the current and the desired vCPUs, and the generation of the class.
func (h *harness) size() string {
	h.t.Helper()
	status := h.vm().Status
	text := "unknown"
	if r := status.Resources; r != nil {
		text = fmt.Sprintf("%d vCPUs", r.VCPUs)
	}
	if r := status.DesiredResources; r != nil {
		text += fmt.Sprintf(", %d desired", r.VCPUs)
	}
	if status.Class != nil {
		text += fmt.Sprintf(" of generation %d", status.Class.Generation)
	}
	return text
}

// sized gives the virtual machine's class a number of cores and a generation.
func (h *harness) sized(cores int32, generation int64) {
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.CPU.Cores = cores })
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		vm = vm.DeepCopy()
		vm.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: "gold", Generation: generation}
		return vm, nil
	})
}

func TestSize_StatusShowsCurrentAndDesiredSize(t *testing.T) {
	h := newHarness(t, running(), photon())
	step := func(name, want string) {
		t.Helper()
		h.mustReconcile()
		if got := h.size(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	h.sized(2, 1)
	step("unchanged", "2 vCPUs of generation 1")
	h.sized(1, 2)
	h.waitsFor("cpu.cores")
	step("smaller, waits for a restart", "2 vCPUs, 1 desired of generation 1")
	step("still waits", "2 vCPUs, 1 desired of generation 1")
	h.waitsFor()
	step("restarted", "1 vCPUs of generation 2")

	h.sized(4, 3)
	h.provider.update = func(*provider.Request) (<-chan error, error) { return ended(nil), nil }
	step("larger, being changed live", "1 vCPUs, 4 desired of generation 2")
	h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, provider.ErrUnknownState }
	step("vSphere is unreachable", "1 vCPUs, 4 desired of generation 2")
	h.provider.update = nil
	step("changed", "4 vCPUs of generation 3")

	off := func(err error) func(req *provider.Request) (<-chan error, error) {
		return func(req *provider.Request) (<-chan error, error) {
			req.VM.Status.PowerState = vmv1alpha1.PoweredOff
			return nil, err
		}
	}
	h.sized(8, 4)
	h.provider.update = off(provider.ErrReconcileInProgress)
	step("off, being changed", "4 vCPUs, 8 desired of generation 3")
	h.provider.update = off(nil)
	step("off, changed", "8 vCPUs of generation 4")
}

func TestSize_StatusShowsTheDesiredSizeBeforeTheCreate(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	h.sized(2, 1)
	h.mustReconcile()
	if got, want := h.size(), "2 vCPUs of generation 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h.sized(4, 2)
	h.mustReconcile()
	if got, want := h.size(), "4 vCPUs of generation 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSize_StatusShowsWhichPartWasAppliedLive(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		memory := resource.MustParse("2Gi")
		vm.Spec.CPU.Sockets, vm.Spec.Memory.Guest = 2, &memory
	})
	h.waitsFor("memory.guest")
	h.mustReconcile()
	if got, want := h.size(), "2 vCPUs, 2 desired"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if has, desired := h.vm().Status.Resources.Memory.String(), h.vm().Status.DesiredResources.Memory.String(); has != "1Gi" || desired != "2Gi" {
		t.Errorf("has %s and desires %s, want 1Gi and 2Gi", has, desired)
	}
}

// A process that is killed while it adds CPUs stores nothing about it.
func TestSize_IsTheSizeInVSphereEvenIfTheStatusDiffers(t *testing.T) {
	shows := func(vcpus int32, memory string) *vmv1alpha1.VirtualMachineResources {
		q := resource.MustParse(memory)
		return &vmv1alpha1.VirtualMachineResources{VCPUs: vcpus, Memory: &q}
	}
	for name, tc := range map[string]struct {
		cores int32
		shows *vmv1alpha1.VirtualMachineResources
		waits []string
		// size in the status, and sockets, cores and memory of the instance
		want string
	}{
		"as stored":                            {1, shows(1, "1024Mi"), nil, "1 vCPUs; 1*1, 1Gi"},
		"more CPUs than are desired":           {1, shows(3, "1Gi"), []string{"cpu.sockets"}, "3 vCPUs, 1 desired; 3*1, 1Gi"},
		"more memory than is desired":          {1, shows(1, "3Gi"), []string{"memory.guest"}, "1 vCPUs, 1 desired; 1*1, 3Gi"},
		"CPUs that do not fill a socket":       {2, shows(3, "1Gi"), []string{"cpu.cores"}, "3 vCPUs, 2 desired; 3*1, 1Gi"},
		"fewer CPUs, none waits for a restart": {4, shows(2, "1Gi"), nil, "2 vCPUs, 4 desired; 2*1, 1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(), photon())
			h.sized(tc.cores, 1)
			h.mustReconcile()
			h.waitsFor(tc.waits...)
			h.provider.size = tc.shows
			h.mustReconcile()
			vmi := h.api.vmi("vm")
			got := fmt.Sprintf("%s; %d*%d, %s", strings.TrimSuffix(h.size(), " of generation 1"), vmi.Spec.CPU.Sockets, vmi.Spec.CPU.Cores, vmi.Spec.Memory.Guest)
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestSize_FollowsVSphereWhileTheDesiredSizeIsUnknown(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Memory = nil })
	h.waitsFor()
	memory := resource.MustParse("1Gi")
	h.provider.size = &vmv1alpha1.VirtualMachineResources{VCPUs: 3, Memory: &memory}
	_, _ = h.tryReconcile()
	if got, want := h.size(), "3 vCPUs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
