// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Conditions are those that the facts alone decide, without times, and the types of
// those that no longer hold and are to be taken away: what nothing asks for is absent.
func Conditions(f Facts) (set []metav1.Condition, withdrawn []string) {
	for _, c := range []*metav1.Condition{customized(f), answered(f), consolidated(f)} {
		if c.Status == "" {
			withdrawn = append(withdrawn, c.Type)
			continue
		}
		set = append(set, *c)
	}
	return set, withdrawn
}

// customized is absent for a guest that nobody customizes.
func customized(f Facts) *metav1.Condition {
	c := &metav1.Condition{Type: vmv1alpha1.ConditionGuestCustomized}
	switch f.Customization {
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_PENDING:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the guest customization begins at the next start"
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING:
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED:
		c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	case types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_FAILED:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonError, "the guest customization failed"
		if f.CustomizationError != "" {
			c.Message += ": " + f.CustomizationError
		}
	}
	return c
}

// answered is absent while vSphere asks nothing.
func answered(f Facts) *metav1.Condition {
	c := &metav1.Condition{Type: vmv1alpha1.ConditionQuestionsAnswered}
	if f.Question != "" {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonQuestionPending
		c.Message = "vSphere waits for an answer, and does nothing with the virtual machine until it has one: " + f.Question
	}
	return c
}

// consolidated is absent for a VM whose disks are as they should be.
func consolidated(f Facts) *metav1.Condition {
	c := &metav1.Condition{Type: vmv1alpha1.ConditionDisksConsolidated}
	if f.ConsolidationNeeded {
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonConsolidationNeeded
		c.Message = "disks have files of snapshots that are gone, which grow: consolidate them in vSphere"
	}
	return c
}
