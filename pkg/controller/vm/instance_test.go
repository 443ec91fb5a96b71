// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestInstance_ExistsWhileTheVMRuns(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	vmi := h.api.vmi("vm")
	if vmi == nil {
		t.Fatal("a powered-on virtual machine has no instance")
	}
	if !metav1.IsControlledBy(vmi, h.vm()) || vmi.Spec.CPU == nil || vmi.Spec.CPU.Sockets != 1 {
		t.Errorf("owners %v, cpu %v; want the virtual machine and its size", vmi.OwnerReferences, vmi.Spec.CPU)
	}
	if s := vmi.Status; s.Phase != vmv1alpha1.PhaseRunning || s.NodeName != "esx-1" || s.Network == nil || s.Network.PrimaryIP4 != "192.0.2.7" {
		t.Errorf("status %+v, want the observed state", s)
	}

	set := func(state vmv1alpha1.PowerState) {
		h.provider.update = func(req *provider.Request) (<-chan error, error) {
			req.VM.Status.PowerState = state
			return nil, nil
		}
		h.mustReconcile()
	}
	set(vmv1alpha1.Suspended)
	if got := h.api.vmi("vm"); got == nil || got.UID != vmi.UID {
		t.Error("a suspended virtual machine lost its instance")
	}
	set(vmv1alpha1.PoweredOff)
	if h.api.vmi("vm") != nil {
		t.Error("a powered-off virtual machine has an instance")
	}
	set(vmv1alpha1.PoweredOn)
	if got := h.api.vmi("vm"); got == nil || got.UID == vmi.UID {
		t.Error("the virtual machine runs again and has no new instance")
	}
}

func TestInstance_IsReplacedIfItBelongsToAnEarlierVM(t *testing.T) {
	earlier := fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "earlier" })
	old := instance.New(earlier, &vmv1alpha1.VirtualMachineInstanceSpec{GuestID: "old"})
	for name, behind := range map[string]bool{"seen in the cache": false, "found by the create": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(), photon(), old.DeepCopy())
			if behind {
				h.behind = true
				if err := h.caches["virtualmachineinstances"].Replace(nil, ""); err != nil {
					t.Fatal(err)
				}
			}
			h.mustReconcile()
			h.mustReconcile()
			if got := h.api.vmi("vm"); got == nil || !metav1.IsControlledBy(got, h.vm()) {
				t.Errorf("instance %v, want one of this virtual machine", got)
			}
		})
	}
}

func TestInstance_IsUsedIfTheCacheLacksIt(t *testing.T) {
	vm := running()
	h := newHarness(t, vm, photon(), instance.New(vm, &vmv1alpha1.VirtualMachineInstanceSpec{CPU: vm.Spec.CPU}))
	h.behind = true
	if err := h.caches["virtualmachineinstances"].Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
	if got := h.api.vmi("vm"); got.Status.Phase != vmv1alpha1.PhaseRunning {
		t.Errorf("status %+v, want it written to the instance that exists", got.Status)
	}
}

func TestInstance_IsCreatedAgainAfterADeletion(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	vmi := h.api.vmi("vm")
	if err := h.api.Tracker().Delete(vmiResource, "ns", "vm"); err != nil {
		t.Fatal(err)
	}
	h.instance.Instances.Handler().OnDelete(vmi)
	h.mustReconcile()
	if h.api.vmi("vm") == nil {
		t.Error("the instance was not created again")
	}
}

// The instance has the running spec, so it changes only after the provider has no operation left.
func TestInstance_GetsALiveChangeWhenItIsApplied(t *testing.T) {
	shares := &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.CPU.Shares = shares })

	h.provider.update = func(*provider.Request) (<-chan error, error) { return ended(nil), nil }
	h.mustReconcile()
	if got := h.api.vmi("vm").Spec.CPU.Shares; got != nil {
		t.Errorf("shares %v while the operation runs, want none", got)
	}
	if req := h.provider.requests[1]; req.Effective.CPU.Shares == nil {
		t.Errorf("effective %v, want the shares", req.Effective.CPU)
	}

	h.provider.update = nil
	h.mustReconcile()
	if got := h.api.vmi("vm").Spec.CPU.Shares; got == nil || got.Level != vmv1alpha1.SharesHigh {
		t.Errorf("shares %v after the operation, want High", got)
	}
	if got := h.vm().Status.RestartRequired; len(got) != 0 {
		t.Errorf("restartRequired %v, want none", got)
	}
}

// The instance must show the running spec even while the provider waits for a later restart, or reports a snapshot that
// cannot be reverted to.
func TestInstance_GetsALiveChangeWhileTheProviderWaits(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		taken bool
	}{
		"nothing":                    {nil, true},
		"a later restart":            {&provider.RequeueError{After: time.Hour}, true},
		"an error without retry":     {&provider.NoRequeueError{Err: errTest}, true},
		"a running operation":        {provider.ErrReconcileInProgress, false},
		"an unreachable vCenter":     {provider.ErrUnknownState, false},
		"paused by an administrator": {provider.ErrPaused, false},
		"a failed call":              {errTest, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(), photon())
			h.mustReconcile()
			h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
				vm.Spec.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
			})
			h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, test.err }
			_, _ = h.tryReconcile()
			if got := h.api.vmi("vm").Spec.CPU.Shares; (got != nil) != test.taken {
				t.Errorf("the instance has shares %v, want the new shares: %t", got, test.taken)
			}
		})
	}
}

// waitsFor makes the provider list paths as waiting for a power cycle.
func (h *harness) waitsFor(paths ...string) {
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		req.VM.Status.RestartRequired = nil
		for _, path := range paths {
			req.VM.Status.RestartRequired = append(req.VM.Status.RestartRequired, vmv1alpha1.RestartRequirement{Path: path})
		}
		return nil, nil
	}
}

func TestInstance_KeepsValuesThatWaitForAPowerCycle(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU.Cores = 4
		vm.Spec.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	})
	h.waitsFor("cpu.cores")
	h.mustReconcile()
	vm := h.vm()
	if len(vm.Status.RestartRequired) != 1 || vm.Status.PrintableStatus != "RestartRequired" {
		t.Errorf("restartRequired %v, printableStatus %s; want the change listed", vm.Status.RestartRequired, vm.Status.PrintableStatus)
	}
	if cpu := h.api.vmi("vm").Spec.CPU; cpu.Cores > 1 || cpu.Shares == nil {
		t.Errorf("the instance has cpu %+v, want the shares changed and the running cores", cpu)
	}

	h.waitsFor() // restarted in one operation, so it was never observed powered off
	h.mustReconcile()
	if got := h.api.vmi("vm").Spec.CPU.Cores; got != 4 {
		t.Errorf("the instance has %d cores after the restart, want 4", got)
	}
	if got := h.vm().Status.RestartRequired; len(got) != 0 {
		t.Errorf("restartRequired %v after the restart, want none", got)
	}
}

// The provider lists changes that wait by hardware paths. Paths that a comparison of specs does not have must not hide
// other changes from the instance.
func TestInstance_GetsLiveChangesDespiteHardwarePaths(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU.Cores = 4
		vm.Spec.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	})
	h.waitsFor("cpu.cores", "cpu.vcpus", "network.interfaces")
	h.mustReconcile()
	if cpu := h.api.vmi("vm").Spec.CPU; cpu.Cores > 1 || cpu.Shares == nil {
		t.Errorf("the instance has cpu %+v, want the shares changed and the running cores", cpu)
	}
}

// Behaviors F138 of test/behaviours.
func TestInstance_IsUnchangedIfTheHardwareRefusesALiveChange(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	})
	h.waitsFor("cpu.shares")
	h.mustReconcile()
	if got := h.api.vmi("vm").Spec.CPU.Shares; got != nil {
		t.Errorf("the instance has shares %v, want none", got)
	}
}

// Behaviors F139 of test/behaviours.
func TestReconcile_PowerOffClearsRestartRequired(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.RestartRequired = []vmv1alpha1.RestartRequirement{{Path: "cpu.cores"}}
		vm.Spec.PowerState, vm.Status.PowerState = vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff
	}))
	h.mustReconcile()
	if got := h.vm().Status.RestartRequired; len(got) != 0 {
		t.Errorf("restartRequired %v of a virtual machine that is powered off, want none", got)
	}
}

// The watch has shown neither the creation nor the deletion of the instance.
func TestInstance_IsCreatedAgainWithoutWatchEvents(t *testing.T) {
	h := newHarness(t, running(), photon())
	h.behind = true
	h.mustReconcile()
	if err := h.api.Tracker().Delete(vmiResource, "ns", "vm"); err != nil {
		t.Fatal(err)
	}
	h.provider.update = func(req *provider.Request) (<-chan error, error) {
		req.VM.Status.NodeName = "esx-2"
		return nil, nil
	}
	if got, want := h.mustReconcile(), (controller.Result{RequeueAfter: controller.ShortConflict}); got != want {
		t.Errorf("result %+v, want %+v", got, want)
	}
	h.mustReconcile()
	if vmi := h.api.vmi("vm"); vmi == nil || vmi.Status.NodeName != "esx-2" {
		t.Errorf("instance %+v, want a new one on esx-2", vmi)
	}
}
