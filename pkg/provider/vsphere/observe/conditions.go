// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// customized returns a condition without status if no guest customization was requested.
func customized(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionGuestCustomized}
	if vm.Guest == nil || vm.Guest.CustomizationInfo == nil {
		return c
	}
	switch info := vm.Guest.CustomizationInfo; types.GuestInfoCustomizationStatus(info.CustomizationStatus) {
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_PENDING:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the guest customization begins at the next start"
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING:
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED:
		c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_FAILED:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonError, "the guest customization failed"
		if text := bounds.Clean(info.ErrorMsg); text != "" {
			c.Message += ": " + text
		}
	}
	return c
}

// Customizing is true while the guest is being customized, or will be at its next start.
func Customizing(vm *mo.VirtualMachine) bool {
	if vm.Guest == nil || vm.Guest.CustomizationInfo == nil {
		return false
	}
	switch types.GuestInfoCustomizationStatus(vm.Guest.CustomizationInfo.CustomizationStatus) {
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_PENDING, types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING:
		return true
	}
	return false
}

// answered returns a condition without status while vSphere asks no question.
func answered(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionQuestionsAnswered}
	if question := vm.Runtime.Question; question != nil && strings.TrimSpace(question.Text) != "" {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonQuestionPending
		c.Message = "vSphere waits for an answer, and does nothing with the virtual machine until it has one: " + strings.TrimSpace(question.Text)
	}
	return c
}

// consolidated returns a condition without status for a VM whose disks are as they should be.
func consolidated(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionDisksConsolidated}
	if vm.Runtime.ConsolidationNeeded {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonConsolidationNeeded
		c.Message = "disks have files of snapshots that are gone, which grow: consolidate them in vSphere"
	}
	return c
}

// tools returns whether VMware Tools runs in the guest.
func tools(o *provider.Observation) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionGuestToolsReady, Status: metav1.ConditionFalse}
	switch {
	case o.PowerState != vmv1alpha1.PoweredOn:
		c.Reason, c.Message = vmv1alpha1.ReasonPoweredOff, "the virtual machine does not run"
	case o.Guest == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "vSphere reports no guest"
	case o.Guest.ToolsRunning:
		c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	default:
		c.Reason, c.Message = vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run"
	}
	return c
}
