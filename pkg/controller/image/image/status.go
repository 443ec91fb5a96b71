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

// finding is the result of describing an image: a description or an error.
type finding struct {
	description *provider.ImageDescription
	err         error
	// vcenters have the image. unread is the error of vCenters that could not be read, or nil.
	vcenters []string
	unread   error
}

// statusOf returns the new status of an image. If the image could not be described, status keeps the previous description,
// and the conditions report the error.
func statusOf(old *vmv1alpha1.VirtualMachineImageStatus, f finding, now time.Time) vmv1alpha1.VirtualMachineImageStatus {
	var next vmv1alpha1.VirtualMachineImageStatus
	if f.err != nil {
		old.DeepCopyInto(&next)
		c := provider.NotReadyCondition(f.err)
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

// setSettingsApplied reports whether VMs get the settings that the image requests. A template is cloned with all its
// settings.
func setSettingsApplied(status *vmv1alpha1.VirtualMachineImageStatus, d *provider.ImageDescription, now time.Time) {
	if status.Type != vmv1alpha1.ImageTypeOVF {
		meta.RemoveStatusCondition(&status.Conditions, vmv1alpha1.ConditionSettingsApplied)
		return
	}
	c := metav1.Condition{Type: vmv1alpha1.ConditionSettingsApplied, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
	switch {
	case d.NotApplied != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, vmv1alpha1.ReasonNotApplied, d.NotApplied
		if d.DefaultConfiguration != "" {
			c.Message += ". Also, " + d.DefaultConfiguration
		}
	case d.DefaultConfiguration != "":
		c.Reason, c.Message = vmv1alpha1.ReasonDefaultConfiguration, d.DefaultConfiguration
	}
	conditions.Set(&status.Conditions, now, c)
}

// describes reports whether status describes the current content of item, so that its descriptor is not read again.
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
