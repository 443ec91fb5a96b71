// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Threat S3 of docs/hardening.md.
func TestPersist_WritesAStatusWithoutItsInvalidPart(t *testing.T) {
	for name, spoil := range map[string]func(*vmv1alpha1.VirtualMachineStatus){
		"long message": func(st *vmv1alpha1.VirtualMachineStatus) {
			st.Conditions = append(st.Conditions, metav1.Condition{Type: "Odd", Status: metav1.ConditionFalse, Reason: "Odd",
				LastTransitionTime: metav1.Unix(1, 0), Message: strings.Repeat("x", 40_000)})
		},
		"invalid reason": func(st *vmv1alpha1.VirtualMachineStatus) {
			st.Conditions = append(st.Conditions, metav1.Condition{Type: "Odd", Status: metav1.ConditionFalse, Reason: "not a reason", LastTransitionTime: metav1.Unix(1, 0)})
		},
		"invalid power state": func(st *vmv1alpha1.VirtualMachineStatus) { st.PowerState = "standBy" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(), photon())
			h.api.PrependReactor("update", "virtualmachines", func(action clienttesting.Action) (bool, runtime.Object, error) {
				write := action.(clienttesting.UpdateAction).GetObject().(*vmv1alpha1.VirtualMachine)
				if action.GetSubresource() != "status" {
					return false, nil, nil
				}
				if errs := validation.ValidateVirtualMachineStatusUpdate(write, write); len(errs) > 0 {
					return true, nil, apierrors.NewInvalid(vmv1alpha1.Kind("VirtualMachine"), write.Name, errs)
				}
				return false, nil, nil
			})
			h.provider.update = func(req *provider.Request) (<-chan error, error) {
				setTrue(req.VM, req.Now, vmv1alpha1.ConditionCreated)
				req.VM.Status.UniqueID, req.VM.Status.PowerState = "vm-42", vmv1alpha1.PoweredOff
				spoil(&req.VM.Status)
				return nil, nil
			}
			if _, err := h.tryReconcile(); err != nil {
				t.Fatal(err)
			}
			st := h.vm().Status
			if st.UniqueID != "vm-42" || !conditions.IsTrue(st.Conditions, vmv1alpha1.ConditionCreated) {
				t.Errorf("status %+v, want everything except the invalid part", st)
			}
		})
	}
}
