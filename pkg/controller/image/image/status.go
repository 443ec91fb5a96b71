// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// finding is what one look at vSphere has told about an image: either that it could not
// be described, or what it is.
type finding struct {
	description *provider.ImageDescription
	err         error
	// vcenters have it; unread is why more may.
	vcenters []string
	unread   error
}

// statusOf is the status of an image that had old before. What could not be described
// now keeps its description: the conditions say that it may not hold.
func statusOf(old *vmv1alpha1.VirtualMachineImageStatus, f finding, now time.Time) vmv1alpha1.VirtualMachineImageStatus {
	var next vmv1alpha1.VirtualMachineImageStatus
	if f.err != nil {
		old.DeepCopyInto(&next)
		c := provider.Unusable(f.err)
		if c.Reason == vmv1alpha1.ReasonNotFound {
			next.VCenters = nil
		}
		conditions.Set(&next.Conditions, now, c)
		for _, kind := range []string{vmv1alpha1.ConditionOVFReady, vmv1alpha1.ConditionSettingsApplied} {
			if meta.FindStatusCondition(next.Conditions, kind) != nil {
				c.Type = kind
				conditions.Set(&next.Conditions, now, c)
			}
		}
		return next
	}
	f.description.Status.DeepCopyInto(&next)
	next.VCenters = vcentersOf(old.VCenters, f)
	for i := range old.Conditions {
		next.Conditions = append(next.Conditions, *old.Conditions[i].DeepCopy())
	}
	conditions.Set(&next.Conditions, now, metav1.Condition{
		Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded,
	})
	setSettingsApplied(&next, f.description, now)
	switch {
	case next.Type != vmv1alpha1.ImageTypeOVF:
		meta.RemoveStatusCondition(&next.Conditions, vmv1alpha1.ConditionOVFReady)
	case f.description.Incomplete != "":
		conditions.Set(&next.Conditions, now, metav1.Condition{
			Type: vmv1alpha1.ConditionOVFReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonIncomplete, Message: f.description.Incomplete,
		})
	default:
		conditions.Set(&next.Conditions, now, metav1.Condition{
			Type: vmv1alpha1.ConditionOVFReady, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded,
		})
	}
	return next
}

// setSettingsApplied reports whether virtual machines get what the image requests. A template
// is cloned with all that it has.
func setSettingsApplied(status *vmv1alpha1.VirtualMachineImageStatus, d *provider.ImageDescription, now time.Time) {
	if status.Type != vmv1alpha1.ImageTypeOVF {
		meta.RemoveStatusCondition(&status.Conditions, vmv1alpha1.ConditionSettingsApplied)
		return
	}
	c := metav1.Condition{Type: vmv1alpha1.ConditionSettingsApplied, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
	switch {
	case d.NotApplied != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonNotApplied, d.NotApplied
		if d.Defaulted != "" {
			c.Message += ". Also, " + d.Defaulted
		}
	case d.Defaulted != "":
		c.Reason, c.Message = vmv1alpha1.ReasonDefaultConfiguration, d.Defaulted
	}
	conditions.Set(&status.Conditions, now, c)
}

// describes is true when status describes the present content of item, as far as it can
// be described, so that nothing has to be read.
func describes(status *vmv1alpha1.VirtualMachineImageStatus, item *provider.LibraryItem) bool {
	if status.ProviderItemID != item.ID || status.ContentVersion != item.ContentVersion {
		return false
	}
	if status.Type == vmv1alpha1.ImageTypeISO {
		return meta.IsStatusConditionTrue(status.Conditions, vmv1alpha1.ConditionReady)
	}
	if meta.FindStatusCondition(status.Conditions, vmv1alpha1.ConditionSettingsApplied) == nil {
		return false // described by an earlier release
	}
	c := meta.FindStatusCondition(status.Conditions, vmv1alpha1.ConditionOVFReady)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == vmv1alpha1.ReasonIncomplete)
}
