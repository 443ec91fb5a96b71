// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// recordingProber is a prober that stores copies of the virtual machines that it gets.
type recordingProber struct {
	given   []*vmv1alpha1.VirtualMachine
	ready   bool
	unknown bool
}

func (k *recordingProber) Add(vm *vmv1alpha1.VirtualMachine) {
	k.given = append(k.given, vm.DeepCopy())
}

func (k *recordingProber) Run(context.Context, func(types.NamespacedName) bool, func(types.NamespacedName)) {
}

func (k *recordingProber) Remove(types.NamespacedName) {}

func (k *recordingProber) Result(types.NamespacedName) (ready, known bool, message string) {
	return k.ready, !k.unknown, "refused"
}

func TestProbe_IsAddedAndReadInEveryReconcile(t *testing.T) {
	h, prober := newHarness(t, running(probed), photon()), &recordingProber{}
	h.probe.Connections = prober
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionReady); got != "False/NotReady" {
		t.Errorf("Ready is %s with a probe that fails, want False/NotReady", got)
	}
	prober.ready = true
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionReady); got != "True/Succeeded" {
		t.Errorf("Ready is %s with a probe that succeeds, want True/Succeeded", got)
	}
	if len(prober.given) != 2 {
		t.Fatalf("the prober got %d virtual machines in two reconciles, want 2", len(prober.given))
	}
	if ip := prober.given[0].Status.Network.PrimaryIP4; ip == "" {
		t.Error("the prober got a virtual machine without its address")
	}
}

// probed adds a probe that connects to the guest.
func probed(vm *vmv1alpha1.VirtualMachine) {
	vm.Spec.ReadinessProbe = &vmv1alpha1.VirtualMachineReadinessProbe{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22}}
}

func TestProbe_KeepsTheResultAfterARestart(t *testing.T) {
	for _, ready := range []bool{true, false} {
		h, prober := newHarness(t, running(probed), photon()), &recordingProber{ready: ready}
		h.probe.Connections = prober
		h.mustReconcile()
		before := h.vm().Status
		h.probe.Connections = &recordingProber{unknown: true} // a process that has just started
		h.mustReconcile()
		if diff := cmp.Diff(before, h.vm().Status); diff != "" {
			t.Errorf("ready %t: a restart changes the status (-before +after):\n%s", ready, diff)
		}
		h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Generation++; vm.Spec.ReadinessProbe.TCPSocket.Port = 80 })
		h.mustReconcile()
		if got := h.condition(vmv1alpha1.ConditionProbeSucceeded); got != "Unknown/NotReady" {
			t.Errorf("ready %t: ProbeSucceeded of another probe without a result is %s, want Unknown/NotReady", ready, got)
		}
	}
}

func TestProbe_IsNotRunForAStoppedVM(t *testing.T) {
	off := func(vm *vmv1alpha1.VirtualMachine) {
		probed(vm)
		vm.Spec.PowerState, vm.Status.PowerState = vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff
	}
	h := newHarness(t, running(off), photon())
	h.probe.Connections = &recordingProber{ready: true}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionProbeSucceeded); got != "False/PoweredOff" {
		t.Errorf("ProbeSucceeded is %s, want False/PoweredOff", got)
	}
	if got := h.condition(vmv1alpha1.ConditionReady); got != "True/PoweredOff" {
		t.Errorf("Ready is %s, want True/PoweredOff: it is off as desired", got)
	}
	// The result from before the power off is not a result of the guest that starts.
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.PowerState, vm.Status.PowerState = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOn
	})
	h.probe.Connections = &recordingProber{unknown: true}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionProbeSucceeded); got != "Unknown/NotReady" {
		t.Errorf("ProbeSucceeded of a starting guest is %s, want Unknown/NotReady", got)
	}
}

func TestProbe_ConditionIsRemovedWithTheProbe(t *testing.T) {
	h := newHarness(t, running(probed), photon())
	h.probe.Connections = &recordingProber{ready: true}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionProbeSucceeded); got != "True/Succeeded" {
		t.Fatalf("ProbeSucceeded is %s, want True/Succeeded", got)
	}
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ReadinessProbe = nil })
	h.mustReconcile()
	if c := findCondition(h.vm(), vmv1alpha1.ConditionProbeSucceeded); c != nil {
		t.Errorf("a virtual machine without a probe has %v", c)
	}
}
