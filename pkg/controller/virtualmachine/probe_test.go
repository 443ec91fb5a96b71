// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// keeper is a prober that keeps what it was given, as a real one does.
type keeper struct {
	given []*vmv1alpha1.VirtualMachine
	ready bool
}

func (k *keeper) Add(vm *vmv1alpha1.VirtualMachine) { k.given = append(k.given, vm) }

func (k *keeper) Remove(types.NamespacedName) {}

func (k *keeper) Result(types.NamespacedName) (ready, known bool, message string) {
	return k.ready, true, "refused"
}

func TestEveryPassHandsTheProbeOverAndAsksIt(t *testing.T) {
	probed := func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.ReadinessProbe = &vmv1alpha1.VirtualMachineReadinessProbe{TCPSocket: &vmv1alpha1.TCPSocketAction{}}
	}
	h, prober := newHarness(t, running(probed), photon()), &keeper{}
	h.prober = prober
	h.pass()
	if got := h.condition(vmv1alpha1.ConditionReady); got != "False/NotReady" {
		t.Errorf("Ready is %s with a probe that fails, want False/NotReady", got)
	}
	prober.ready = true
	h.pass()
	if got := h.condition(vmv1alpha1.ConditionReady); got != "True/Succeeded" {
		t.Errorf("Ready is %s with a probe that succeeds, want True/Succeeded", got)
	}
	if len(prober.given) != 2 {
		t.Fatalf("the prober was given %d virtual machines in two passes, want 2", len(prober.given))
	}
	if ip := prober.given[0].Status.Network.PrimaryIP4; ip == "" {
		t.Error("the prober was given a virtual machine without the address that it has")
	}
}

// The pass goes on with its own object after it handed the probe over.
func TestProberKeepsAnObjectThatNobodyChanges(t *testing.T) {
	h, prober := newHarness(t, running(), photon()), &keeper{}
	h.prober = prober
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.ObservedGeneration = 0
		vm.Spec.GuestID = "photon64Guest"
	})
	h.pass()
	if got := prober.given[0].Status.ObservedGeneration; got != 0 {
		t.Errorf("the pass changed the status that the prober was given: generation %d is observed", got)
	}
}
