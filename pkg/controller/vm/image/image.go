// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image finds the source of a virtual machine: an image, or the virtual machine that it is cloned from.
package image

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Reconciler finds images and virtual machines to clone.
type Reconciler struct {
	Reader instancetype.Reader
	VMs    controller.Store[*vmv1alpha1.VirtualMachine]
}

// Report has the source of a virtual machine.
type Report struct {
	step.Report
	Image   *vmv1alpha1.VirtualMachineImage
	CloneOf *provider.CloneSource
}

// Reconcile finds the image. A virtual machine that adopts an existing vSphere VM needs none.
func (r *Reconciler) Reconcile(ctx context.Context, s step.State) (report Report, _ error) {
	no := func(reason, message string) (Report, error) {
		report.Wait = true
		report.False(vmv1alpha1.ConditionImageReady, reason, message)
		return report, nil
	}
	ref := s.VM.Spec.Image
	switch {
	case ref == nil && s.VM.HasForeignProviderID():
		report.Remove(vmv1alpha1.ConditionImageReady)
		return report, nil
	case ref == nil:
		return no(vmv1alpha1.ReasonInvalid, "spec.image is required to create a virtual machine")
	case ref.Kind == vmv1alpha1.MachineImageKind:
		reason, message := r.cloneSource(&report, s.VM.Namespace, ref)
		if reason != "" {
			return no(reason, message)
		}
		report.True(vmv1alpha1.ConditionImageReady)
		return report, nil
	}
	image, err := r.Reader.Image(ctx, s.VM.Namespace, *ref)
	if apierrors.IsNotFound(err) {
		message := absentImage(ref, s.VM.Namespace)
		var hinted *instancetype.HintedError
		if errors.As(err, &hinted) {
			message += hinted.Hint
		}
		return no(vmv1alpha1.ReasonNotFound, message)
	}
	if err != nil {
		report, _ = no(vmv1alpha1.ReasonError, err.Error())
		return report, fmt.Errorf("reading image %q: %w", ref.Name, err)
	}
	report.Image = image
	if errs := fitting.ValidateEULA(image, s.VM.Spec.AcceptEULA); len(errs) > 0 {
		return no(vmv1alpha1.ReasonEULANotAccepted, errs.ToAggregate().Error())
	}
	errs := fitting.ValidateDisk(image, s.VM.Spec.BootDisk)
	if s.Effective != nil {
		errs = append(errs, fitting.ValidateFirmware(image, s.Effective.Firmware)...)
	}
	if len(errs) > 0 {
		return no(vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
	}
	report.True(vmv1alpha1.ConditionImageReady)
	return report, nil
}

func absentImage(ref *vmv1alpha1.VirtualMachineImageRef, namespace string) string {
	if ref.Kind == vmv1alpha1.ClusterImageKind {
		return fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name)
	}
	return fmt.Sprintf("%s %q does not exist in namespace %q", vmv1alpha1.ImageKind, ref.Name, namespace)
}

// cloneSource finds the virtual machine to clone by its object. Its events queue the clone again. If it cannot be
// cloned, cloneSource returns the reason and sets no image, so that the provider does not query vSphere.
func (r *Reconciler) cloneSource(report *Report, namespace string, ref *vmv1alpha1.VirtualMachineImageRef) (reason, message string) {
	source, err := r.VMs.Get(types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if err != nil || source == nil {
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q does not exist in namespace %q", ref.Name, namespace)
	}
	if reason, message := notCloneable(source, ref.Snapshot); reason != "" {
		return reason, fmt.Sprintf("VirtualMachine %q %s", ref.Name, message)
	}
	report.Image = source.AsImage()
	report.CloneOf = &provider.CloneSource{
		NamespacedName: controller.KeyOf(source), UID: source.UID, InstanceUUID: source.Status.InstanceUUID, Snapshot: ref.Snapshot,
	}
	return "", ""
}

// notCloneable returns the reason why source cannot be cloned according to its object. The reason is empty if it can be
// cloned. Only vSphere knows which snapshots exist.
func notCloneable(source *vmv1alpha1.VirtualMachine, snapshot string) (reason, message string) {
	switch {
	case source.DeletionTimestamp != nil:
		return vmv1alpha1.ReasonNotFound, "is being deleted"
	case !conditions.IsTrue(source.Status.Conditions, vmv1alpha1.ConditionCreated) || source.Status.InstanceUUID == "":
		return vmv1alpha1.ReasonNotReady, "is not created"
	case snapshot == "" && source.Status.PowerState != vmv1alpha1.PoweredOff:
		return vmv1alpha1.ReasonNotReady, fmt.Sprintf("is %s: power it off, or set spec.image.snapshot to one of its snapshots", source.Status.PowerState)
	case snapshot == "" && source.DesiredPowerState(source.Status.PowerState) != vmv1alpha1.PoweredOff:
		return vmv1alpha1.ReasonNotReady, "is about to be powered on: set its spec.powerState, or its group's, to PoweredOff, or set spec.image.snapshot to one of its snapshots"
	}
	return "", ""
}

// Discs returns the images in a virtual machine's CD-ROM drives, by volume. The image is nil if it does not exist.
func (r *Reconciler) Discs(ctx context.Context, namespace string, spec *vmv1alpha1.VirtualMachineInstanceSpec) (map[string]*vmv1alpha1.VirtualMachineImage, error) {
	var out map[string]*vmv1alpha1.VirtualMachineImage
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.CDROM == nil || v.CDROM.Image == nil {
			continue
		}
		image, err := r.Reader.Image(ctx, namespace, *v.CDROM.Image)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading image %q of volume %q: %w", v.CDROM.Image.Name, v.Name, err)
		}
		if out == nil {
			out = map[string]*vmv1alpha1.VirtualMachineImage{}
		}
		out[v.Name] = image
	}
	return out, nil
}
