// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// gatherOrigin finds the virtual machine that this one is to be a clone of, by its object:
// whatever that waits for wakes this one, which is not made meanwhile. While it cannot be
// cloned there is no image: vSphere is not asked about it, and what is said of it here stays.
func (r *reconciler) gatherOrigin(p *pass, ref *vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, *provider.CloneSource) {
	source, err := r.vms.Get(types.NamespacedName{Namespace: p.VM.Namespace, Name: ref.Name})
	if err != nil || source == nil {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound,
			fmt.Sprintf("VirtualMachine %q does not exist in namespace %q", ref.Name, p.VM.Namespace))
		return nil, nil
	}
	if reason, message := notCloneable(source, ref.Snapshot); reason != "" {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageReady, reason, fmt.Sprintf("VirtualMachine %q %s", ref.Name, message))
		return nil, nil
	}
	setTrue(p.VM, p.Now, vmv1alpha1.ConditionImageReady)
	return source.AsImage(), &provider.CloneSource{
		NamespacedName: types.NamespacedName{Namespace: source.Namespace, Name: source.Name}, UID: source.UID,
		InstanceUUID: source.Status.InstanceUUID, Snapshot: ref.Snapshot,
	}
}

// notCloneable says why nothing can be cloned from source as its object shows it; reason is
// empty if something can. Which snapshots there are only vSphere knows.
func notCloneable(source *vmv1alpha1.VirtualMachine, snapshot string) (reason, message string) {
	switch {
	case source.DeletionTimestamp != nil:
		return vmv1alpha1.ReasonNotFound, "is being deleted"
	case !isTrue(source, vmv1alpha1.ConditionCreated) || source.Status.InstanceUUID == "":
		return vmv1alpha1.ReasonNotReady, "is not created"
	case snapshot == "" && source.Status.PowerState != vmv1alpha1.PoweredOff:
		return vmv1alpha1.ReasonNotReady, fmt.Sprintf("is %s: it has to be PoweredOff, or spec.image.snapshot has to name one of its snapshots", source.Status.PowerState)
	case snapshot == "" && desiredPowerState(source) != vmv1alpha1.PoweredOff:
		return vmv1alpha1.ReasonNotReady, "is about to be powered on: its spec.powerState, or its group's, has to be PoweredOff, or spec.image.snapshot has to name one of its snapshots"
	}
	return "", ""
}
