// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// prerequisites is what a virtual machine needs before it can be created.
type prerequisites struct {
	// ready is true when everything is there.
	ready bool
	// rest is the same without the image, of which a virtual machine that is there needs
	// nothing any more.
	rest      bool
	image     *vmv1alpha1.VirtualMachineImage
	cloneOf   *provider.CloneSource
	bootstrap *provider.BootstrapData
}

// gather looks at everything that creating the virtual machine needs, all of it in
// one pass, so that every condition shows at once. A virtual machine that exists
// needs none of it: then nothing is read and conditions stay as they are, unless
// cloud-init is to do again what it does at the first boot.
func (r *reconciler) gather(ctx context.Context, p *pass) (prerequisites, error) {
	var got prerequisites
	boots, machineErr := r.gatherMachine(ctx, p)
	if isTrue(p.VM, vmv1alpha1.ConditionCreated) {
		var err error
		if bootsAnew(p.VM) {
			got.bootstrap, err = r.gatherBootstrap(ctx, p, nil)
		}
		return got, err
	}
	var imageErr, bootstrapErr error
	if ref := p.VM.Spec.Image; ref != nil && ref.Kind == vmv1alpha1.MachineImageKind {
		got.image, got.cloneOf = r.gatherOrigin(p, ref)
	} else {
		got.image, imageErr = r.gatherImage(ctx, p)
	}
	if boots {
		got.bootstrap, bootstrapErr = r.gatherBootstrap(ctx, p, got.image)
	}
	got.rest = boots && p.Effective != nil &&
		holds(p.VM, vmv1alpha1.ConditionSynchronized) &&
		holds(p.VM, vmv1alpha1.ConditionVolumesReady) &&
		holds(p.VM, vmv1alpha1.ConditionBootstrapReady) &&
		holds(p.VM, vmv1alpha1.ConditionAddressesReady) && p.addressesRecorded()
	got.ready = got.rest && holds(p.VM, vmv1alpha1.ConditionImageReady)
	return got, errors.Join(machineErr, imageErr, bootstrapErr)
}

// gatherImage finds the image. A virtual machine that adopts one of vSphere by
// providerID needs none.
func (r *reconciler) gatherImage(ctx context.Context, p *pass) (*vmv1alpha1.VirtualMachineImage, error) {
	ref := p.VM.Spec.Image
	if ref == nil {
		if p.VM.NamesAnotherVM() {
			meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionImageReady)
			return nil, nil
		}
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonInvalid,
			"spec.image is required to create a virtual machine")
		return nil, nil
	}
	image, err := r.reader.Image(ctx, p.VM.Namespace, *ref)
	switch {
	case apierrors.IsNotFound(err):
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound,
			absentImage(ref, p.VM.Namespace))
		return nil, nil
	case err != nil:
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonError, err.Error())
		return nil, fmt.Errorf("reading image %q: %w", ref.Name, err)
	}
	errs := fitting.Disk(image, p.VM.Spec.BootDisk)
	if p.Effective != nil {
		errs = append(errs, fitting.Firmware(image, p.Effective.Firmware)...)
	}
	if len(errs) > 0 {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
		return image, nil
	}
	setTrue(p.VM, p.Now, vmv1alpha1.ConditionImageReady)
	return image, nil
}

func absentImage(ref *vmv1alpha1.VirtualMachineImageRef, namespace string) string {
	if ref.Kind == vmv1alpha1.ClusterImageKind {
		return fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name)
	}
	return fmt.Sprintf("%s %q does not exist in namespace %q", vmv1alpha1.ImageKind, ref.Name, namespace)
}
