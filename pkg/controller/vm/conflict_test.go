// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// If a reconcile requests an immediate requeue and has a conflict, an immediate requeue would cause conflicts in a loop
// until the cache is current.
func TestReconcile_ConflictDelaysAnImmediateRequeue(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Finalizers = nil }), photon())
	h.api.fail["update virtualmachines"] = apierrors.NewConflict(vmResource.GroupResource(), "vm", errors.New("changed"))
	result, err := h.tryReconcile()
	if err != nil || result != (controller.Result{RequeueAfter: controller.ShortConflict}) {
		t.Errorf("result %+v and error %v, want a requeue after %s", result, err, controller.ShortConflict)
	}
}

func TestPersist_ForgetsTheEchoOfAFailedWrite(t *testing.T) {
	for name, fault := range map[string]error{
		"refused":  errors.New("write failed"),
		"conflict": apierrors.NewConflict(vmResource.GroupResource(), "vm", errors.New("changed")),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(), photon())
			h.api.fail["update virtualmachines/status"] = fault
			h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GuestID = "photon64Guest" })
			_, _ = h.tryReconcile()
			if h.writer.echoes.IsEcho(h.vm(), h.api.refused.(*vmv1alpha1.VirtualMachine)) {
				t.Error("the failed write is treated as an echo")
			}
		})
	}
}
