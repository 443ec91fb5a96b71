// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

// runningSpec returns what a running virtual machine runs with now: all that is
// desired when the provider, who has compared it with the hardware, has nothing
// left that needs a power cycle; else what it ran with and what changed live.
// What should have changed live and is listed by the provider stays as it was,
// because the hardware refused it.
func runningSpec(vm *vmv1alpha1.VirtualMachine, running, desired *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineInstanceSpec {
	if len(vm.Status.RestartRequired) == 0 {
		return desired
	}
	waiting := make([]string, 0, len(vm.Status.RestartRequired))
	for _, r := range vm.Status.RestartRequired {
		waiting = append(waiting, r.Path)
	}
	target, _ := hardware.Stage(running, desired, vm.Spec.UpdateStrategy, waiting...)
	return target
}

// reconcileInstance makes the instance of a running virtual machine, keeps it up
// to date, and removes that of one that does not run. found is what the cache
// holds under the name, whoever owns it.
func (r *reconciler) reconcileInstance(ctx context.Context, p *pass, found *vmv1alpha1.VirtualMachineInstance) error {
	if found != nil && p.Instance == nil {
		// Left of an earlier virtual machine of this name.
		if err := r.deleteInstance(ctx, found); err != nil {
			return err
		}
		p.Again(0)
		return nil
	}
	if !step.Runs(p.VM) {
		if p.Instance == nil || p.Instance.DeletionTimestamp != nil {
			return nil
		}
		return r.deleteInstance(ctx, p.Instance)
	}
	vmi := p.Instance
	if vmi == nil {
		if p.Effective == nil {
			return nil // it is made when the effective spec can be resolved again
		}
		var err error
		if vmi, err = r.createInstance(ctx, p); err != nil || vmi == nil {
			return err
		}
	}
	return r.updateInstance(ctx, p, vmi)
}

// createInstance makes the instance. One that exists already, because the cache
// was behind, is used.
func (r *reconciler) createInstance(ctx context.Context, p *pass) (*vmv1alpha1.VirtualMachineInstance, error) {
	vmi := newInstance(p.VM, p.Effective)
	client := r.client.VirtualMachineInstances(vmi.Namespace)
	created, err := client.Create(ctx, vmi, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.vmis.Wrote(created)
		return created, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil // the virtual machine is about to be deleted too
	case !apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("creating virtual machine instance %s: %w", p.Key(), err)
	}
	existing, err := client.Get(ctx, vmi.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading virtual machine instance %s, which exists already: %w", p.Key(), err)
	}
	if controller.IfOwned(existing, p.VM) == nil {
		if err := r.deleteInstance(ctx, existing); err != nil {
			return nil, err
		}
		p.Again(controller.ShortConflict)
		return nil, nil
	}
	r.vmis.Wrote(existing)
	return existing, nil
}

// updateInstance records a live change that was applied, and what was observed.
func (r *reconciler) updateInstance(ctx context.Context, p *pass, vmi *vmv1alpha1.VirtualMachineInstance) error {
	client := r.client.VirtualMachineInstances(vmi.Namespace)
	if now := p.runsWith(vmi); !equality.Semantic.DeepEqual(&vmi.Spec, now) {
		next := vmi.DeepCopy()
		next.Spec = *now.DeepCopy()
		if err := r.vmis.Admit(ctx, client, next); err != nil {
			return err
		}
		updated, err := client.Update(ctx, next, metav1.UpdateOptions{})
		if err != nil {
			return r.ignoreRaced(p, vmi, fmt.Errorf("updating virtual machine instance %s: %w", p.Key(), err))
		}
		r.vmis.Wrote(updated)
		vmi = updated
	}
	status := instanceStatus(p.VM)
	if equality.Semantic.DeepEqual(vmi.Status, status) {
		return nil
	}
	next := vmi.DeepCopy()
	next.Status = status
	if err := r.vmis.Admit(ctx, client, next); err != nil {
		return err
	}
	updated, err := client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return r.ignoreRaced(p, vmi, fmt.Errorf("updating status of virtual machine instance %s: %w", p.Key(), err))
	}
	r.vmis.Wrote(updated)
	return nil
}

// runsWith is what a virtual machine that runs, and whose instance is vmi, runs with now;
// nil when that is not known. Without an instance it has just been started.
func (p *pass) runsWith(vmi *vmv1alpha1.VirtualMachineInstance) *vmv1alpha1.VirtualMachineInstanceSpec {
	switch {
	case vmi == nil:
		return p.Effective
	case applied(p):
		return p.withSize(runningSpec(p.VM, &vmi.Spec, p.Effective))
	}
	return p.withSize(&vmi.Spec)
}

// applied says whether the provider has brought the running virtual machine to
// what it was asked for, so that the instance may say so.
func applied(p *pass) bool {
	return p.Observed.Settled && p.Effective != nil && p.Observed.Configured
}

// ignoreRaced asks for another pass when somebody else changed or removed the
// instance in between. One that is gone must not be found again, which it would be if
// it went before the informer had it.
func (r *reconciler) ignoreRaced(p *pass, vmi *vmv1alpha1.VirtualMachineInstance, err error) error {
	if apierrors.IsNotFound(err) {
		r.vmis.Deleted(vmi)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		p.Again(controller.ShortConflict)
		return nil
	}
	return err
}

// deleteInstance removes exactly the instance that was seen.
func (r *reconciler) deleteInstance(ctx context.Context, vmi *vmv1alpha1.VirtualMachineInstance) error {
	err := r.deleteInstanceNamed(ctx, controller.KeyOf(vmi), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(vmi.UID))})
	if err == nil {
		r.vmis.Deleted(vmi)
	}
	return err
}

// deleteInstanceNamed returns nil as well when there is none, or another than the one that
// the options name.
func (r *reconciler) deleteInstanceNamed(ctx context.Context, key types.NamespacedName, o metav1.DeleteOptions) error {
	err := r.client.VirtualMachineInstances(key.Namespace).Delete(ctx, key.Name, o)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting virtual machine instance %s: %w", key, err)
	}
	return nil
}

// newInstance is the instance that vm has when it starts to run.
func newInstance(vm *vmv1alpha1.VirtualMachine, effective *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineInstance {
	return &vmv1alpha1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       vm.Namespace,
			Name:            vm.Name,
			Labels:          vm.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))},
		},
		Spec: *effective.DeepCopy(),
	}
}

// instanceStatus is the status of the instance of vm. Conditions are those of the
// virtual machine that speak of the guest.
func instanceStatus(vm *vmv1alpha1.VirtualMachine) vmv1alpha1.VirtualMachineInstanceStatus {
	status := vmv1alpha1.VirtualMachineInstanceStatus{
		Phase:    vm.Status.Phase,
		NodeName: vm.Status.NodeName,
		Network:  vm.Status.Network.DeepCopy(),
		Guest:    vm.Status.Guest.DeepCopy(),
	}
	for _, conditionType := range []string{vmv1alpha1.ConditionReady, vmv1alpha1.ConditionGuestToolsReady} {
		if c := findCondition(vm, conditionType); c != nil {
			mirrored := *c
			mirrored.ObservedGeneration = 0 // the generation of another object
			status.Conditions = append(status.Conditions, mirrored)
		}
	}
	return status
}
