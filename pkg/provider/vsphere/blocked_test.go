// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// A question blocks the power-on until it is answered.
func TestQuestion_IsReportedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("asked", templateImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	st := &req.VM.Status
	l.until("the VM is off", func() bool { return isTrue(st, vmv1alpha1.ConditionPowerStateSynced) }, req)
	params := url.Values{"vm": {st.UniqueID}, "at": {"power-on"}, "text": {"Did you move it or copy it?"}, "choice": {"moved", "copied"}}
	control(t, ready, http.MethodPost, "/vm/ask?"+params.Encode())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	var c *metav1.Condition
	l.until("the question is reported", func() bool {
		c = meta.FindStatusCondition(st.Conditions, vmv1alpha1.ConditionQuestionsAnswered)
		return c != nil
	}, req)
	if c.Status != metav1.ConditionFalse || c.Reason != "QuestionPending" || !strings.Contains(c.Message, "Did you move it or copy it?") {
		t.Errorf("condition %+v, want the question", c)
	}
	vm := object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: st.UniqueID})
	question := recordOf(t, p, req).Runtime.Question
	if question == nil {
		t.Fatal("the inventory has no question")
	}
	if err := vm.Answer(t.Context(), question.Id, "0"); err != nil {
		t.Fatal(err)
	}
	l.until("the VM runs without a pending question", func() bool {
		return isRunning(req)() && meta.FindStatusCondition(st.Conditions, vmv1alpha1.ConditionQuestionsAnswered) == nil
	}, req)
}

func TestGuestCustomization_ReportsAFailure(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	boot := func(name string) *metav1.Condition {
		req := newRequest(name, templateImage())
		req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}}
		var c *metav1.Condition
		l.until(name+" has booted", func() bool {
			c = meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionGuestCustomized)
			return isRunning(req)() && c != nil && c.Reason != vmv1alpha1.ReasonInProgress
		}, req)
		return c
	}
	if c := boot("good"); c.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v, want True", c)
	}
	control(t, ready, http.MethodPut, "/customizations?fail="+url.QueryEscape("perl is missing"))
	if c := boot("bad"); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "perl is missing") {
		t.Errorf("condition %+v, want False with the error of the guest", c)
	}
}
