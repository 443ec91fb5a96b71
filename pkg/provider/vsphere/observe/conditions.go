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

// customizationCondition returns the guest customization condition. It has no status if no customization was requested.
func customizationCondition(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionGuestCustomized}
	if vm.Guest == nil || vm.Guest.CustomizationInfo == nil {
		return c
	}
	switch info := vm.Guest.CustomizationInfo; types.GuestInfoCustomizationStatus(info.CustomizationStatus) {
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_PENDING:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the guest customization starts at the next power-on"
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

// IsCustomizing reports whether a guest customization is running or pending.
func IsCustomizing(vm *mo.VirtualMachine) bool {
	if vm.Guest == nil || vm.Guest.CustomizationInfo == nil {
		return false
	}
	switch types.GuestInfoCustomizationStatus(vm.Guest.CustomizationInfo.CustomizationStatus) {
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_PENDING, types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING:
		return true
	}
	return false
}

// questionCondition returns the condition for pending questions. It has no status if there is no question.
func questionCondition(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionQuestionsAnswered}
	if question := vm.Runtime.Question; question != nil && strings.TrimSpace(question.Text) != "" {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonQuestionPending
		c.Message = "operations are blocked until the question is answered in vSphere: " + strings.TrimSpace(question.Text)
	}
	return c
}

// consolidationCondition returns the disk consolidation condition. It has no status if no consolidation is needed.
func consolidationCondition(vm *mo.VirtualMachine) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionDisksConsolidated}
	if vm.Runtime.ConsolidationNeeded {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonConsolidationNeeded
		c.Message = "disks still have files of deleted snapshots, which keep growing: consolidate the disks in vSphere"
	}
	return c
}

// toolsCondition returns the condition that reports whether VMware Tools is running in the guest.
func toolsCondition(o *provider.Observation) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionGuestToolsReady, Status: metav1.ConditionFalse}
	switch {
	case o.PowerState != vmv1alpha1.PoweredOn:
		c.Reason, c.Message = vmv1alpha1.ReasonPoweredOff, "the virtual machine is not running"
	case o.Guest == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "vSphere reports no guest information"
	case o.Guest.ToolsRunning:
		c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	default:
		c.Reason, c.Message = vmv1alpha1.ReasonWaitingForTools, "VMware Tools is not running"
	}
	return c
}
