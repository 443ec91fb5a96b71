// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
)

func TestInstance_DeletionByAnotherClientQueuesItsVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := stable()
		a := assemble(t, vm, instance.New(vm, &vmv1alpha1.VirtualMachineInstanceSpec{}))
		a.watch(t)
		a.drain()
		if err := a.api.VmV1alpha1().VirtualMachineInstances("ns").Delete(t.Context(), "vm", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]handedOut{{"vm", controller.PriorityDefaultGeneric}}, a.drain()); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
	})
}

func TestInstance_DeletionOfAStoppedVMsInstanceIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := stable()
		vm.Spec.PowerState, vm.Status.PowerState = vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff
		a := assemble(t, vm, instance.New(vm, &vmv1alpha1.VirtualMachineInstanceSpec{}))
		a.watch(t)
		a.drain()
		if err := a.api.VmV1alpha1().VirtualMachineInstances("ns").Delete(t.Context(), "vm", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := a.drain(); len(got) != 0 {
			t.Errorf("queued %v, want nothing: the controller deleted the instance", got)
		}
	})
}
