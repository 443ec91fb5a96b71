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

// A pass that wants another one at once and meets a conflict would meet the same
// conflict again, as fast as a worker can, until the cache has caught up.
func TestConflictOfAPassThatWantsAnotherAtOnceIsNotRepeatedAtOnce(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Finalizers = nil }), photon())
	h.api.fail["update virtualmachines"] = apierrors.NewConflict(vmResource.GroupResource(), "vm", errors.New("changed"))
	result, err := h.tryPass()
	if err != nil || result != (controller.Result{RequeueAfter: controller.ShortConflict}) {
		t.Errorf("result %+v and error %v, want another pass after %s", result, err, controller.ShortConflict)
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
			if h.writer.own.Heard(h.vm(), h.api.refused.(*vmv1alpha1.VirtualMachine)) {
				t.Error("the write that failed is taken for an echo")
			}
		})
	}
}
