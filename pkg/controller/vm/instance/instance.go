// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instance keeps the VirtualMachineInstance of a virtual machine that runs: what it runs with, and its size in
// the status of the virtual machine.
package instance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/instancetype"
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

// Reconciler creates, updates and deletes instances.
type Reconciler struct {
	Instances controller.Store[*vmv1alpha1.VirtualMachineInstance]
	Client    vmclient.VirtualMachineInstancesGetter
}

// State is what the instance depends on. It comes after the conditions are merged, because the instance shows some.
type State struct {
	step.State
	// Found is what the cache has under the name, whoever owns it.
	Found *vmv1alpha1.VirtualMachineInstance
}

// Reconcile makes the instance of a running virtual machine, keeps it up
// to date, and removes that of one that does not run.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (report step.Report, err error) {
	if s.Found != nil && s.Instance == nil {
		// Left of an earlier virtual machine of this name.
		if err := r.delete(ctx, s.Found); err != nil {
			return report, err
		}
		report.Again(0)
		return report, nil
	}
	if !step.Runs(s.VM) {
		if s.Instance == nil || s.Instance.DeletionTimestamp != nil {
			return report, nil
		}
		return report, r.delete(ctx, s.Instance)
	}
	vmi := s.Instance
	if vmi == nil {
		if s.Effective == nil {
			return report, nil // it is made when the effective spec can be resolved again
		}
		if vmi, err = r.create(ctx, &report, s.State); err != nil || vmi == nil {
			return report, err
		}
	}
	err = r.update(ctx, s.State, vmi)
	// Another client changed or removed it in between. One that is gone must not be found again, which it would be if
	// it went before the informer had it.
	if apierrors.IsNotFound(err) {
		r.Instances.Deleted(vmi)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		report.Again(controller.ShortConflict)
		return report, nil
	}
	return report, err
}

// create makes the instance. One that exists already, because the cache
// was behind, is used.
func (r *Reconciler) create(ctx context.Context, report *step.Report, s step.State) (*vmv1alpha1.VirtualMachineInstance, error) {
	vmi := New(s.VM, s.Effective)
	client := r.Client.VirtualMachineInstances(vmi.Namespace)
	created, err := client.Create(ctx, vmi, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.Instances.Wrote(created)
		return created, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil // the virtual machine is about to be deleted too
	case !apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("creating virtual machine instance %s: %w", s.Key(), err)
	}
	existing, err := client.Get(ctx, vmi.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading virtual machine instance %s, which exists already: %w", s.Key(), err)
	}
	if controller.IfOwned(existing, s.VM) == nil {
		if err := r.delete(ctx, existing); err != nil {
			return nil, err
		}
		report.Again(controller.ShortConflict)
		return nil, nil
	}
	r.Instances.Wrote(existing)
	return existing, nil
}

// update records a live change that was applied, and what was observed.
func (r *Reconciler) update(ctx context.Context, s step.State, vmi *vmv1alpha1.VirtualMachineInstance) error {
	client := r.Client.VirtualMachineInstances(vmi.Namespace)
	if now := runsWith(&s, vmi); !equality.Semantic.DeepEqual(&vmi.Spec, now) {
		next := vmi.DeepCopy()
		next.Spec = *now.DeepCopy()
		if err := r.Instances.Admit(ctx, client, next); err != nil {
			return err
		}
		updated, err := client.Update(ctx, next, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("updating virtual machine instance %s: %w", s.Key(), err)
		}
		r.Instances.Wrote(updated)
		vmi = updated
	}
	status := instanceStatus(s.VM)
	if equality.Semantic.DeepEqual(vmi.Status, status) {
		return nil
	}
	next := vmi.DeepCopy()
	next.Status = status
	if err := r.Instances.Admit(ctx, client, next); err != nil {
		return err
	}
	updated, err := client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating status of virtual machine instance %s: %w", s.Key(), err)
	}
	r.Instances.Wrote(updated)
	return nil
}

// runsWith is what a virtual machine that runs, and whose instance is vmi, runs with now;
// nil when that is not known. Without an instance it has just been started.
func runsWith(s *step.State, vmi *vmv1alpha1.VirtualMachineInstance) *vmv1alpha1.VirtualMachineInstanceSpec {
	switch {
	case vmi == nil:
		return s.Effective
	case applied(s):
		return withSize(runningSpec(s.VM, &vmi.Spec, s.Effective), s.Observed.Size())
	}
	return withSize(&vmi.Spec, s.Observed.Size())
}

// applied is true if the provider has brought the running virtual machine to
// what it was asked for, so that the instance may say so.
func applied(s *step.State) bool {
	return s.Observed.Settled && s.Effective != nil && s.Observed.Configured
}

// Remove removes the instance of a virtual machine that is deleted, whatever the cache has: nobody would remove one
// that it does not show.
func (r *Reconciler) Remove(ctx context.Context, s step.State) error {
	err := r.deleteNamed(ctx, s.Key(), metav1.DeleteOptions{})
	if err == nil && s.Instance != nil {
		r.Instances.Deleted(s.Instance)
	}
	return err
}

// delete removes exactly the instance that was seen.
func (r *Reconciler) delete(ctx context.Context, vmi *vmv1alpha1.VirtualMachineInstance) error {
	err := r.deleteNamed(ctx, controller.KeyOf(vmi), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(vmi.UID))})
	if err == nil {
		r.Instances.Deleted(vmi)
	}
	return err
}

// deleteNamed returns nil as well when there is none, or another than the one that
// the options name.
func (r *Reconciler) deleteNamed(ctx context.Context, key types.NamespacedName, o metav1.DeleteOptions) error {
	err := r.Client.VirtualMachineInstances(key.Namespace).Delete(ctx, key.Name, o)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting virtual machine instance %s: %w", key, err)
	}
	return nil
}

// New returns the instance that vm has when it starts to run.
func New(vm *vmv1alpha1.VirtualMachine, effective *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineInstance {
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
		if c := conditions.Find(vm.Status.Conditions, conditionType); c != nil {
			mirrored := *c
			mirrored.ObservedGeneration = 0 // the generation of another object
			status.Conditions = append(status.Conditions, mirrored)
		}
	}
	return status
}

// ShowSize sets the size that vSphere shows, the desired size while that is another, and the generation of the
// class that the size comes from. The synchronizers have filled in the desired ones. A size that vSphere has not
// shown yet is the last one that is known.
func ShowSize(s *step.State) {
	before, status := &s.Stored.Status, &s.VM.Status
	created, done := s.Observed.Created, applied(s) && len(status.RestartRequired) == 0
	wanted := instancetype.Resources(s.Effective)
	has, hasSize := wanted, s.Observed.Size()
	switch {
	case created && hasSize != nil:
		if !equality.Semantic.DeepEqual(hasSize, wanted) {
			has = hasSize
		}
	case wanted == nil:
		has = before.Resources
	case !created || done:
	case step.Runs(s.VM):
		has = instancetype.Resources(runsWith(s, s.Instance))
	case before.Resources != nil:
		has = before.Resources
	}
	status.Resources = has
	if wanted != nil {
		status.DesiredResources = nil
		if !equality.Semantic.DeepEqual(has, wanted) {
			status.DesiredResources = wanted
		}
	}
	if created && !done && status.Class != nil && before.Class != nil {
		status.Class = before.Class
	}
}

// withSize is spec, of a running virtual machine, with the size that vSphere shows: a change that was applied and
// not recorded, for example before a restart of this process, is part of it.
func withSize(spec *vmv1alpha1.VirtualMachineInstanceSpec, has *vmv1alpha1.VirtualMachineResources) *vmv1alpha1.VirtualMachineInstanceSpec {
	size := instancetype.Resources(spec)
	if has == nil || size == nil || equality.Semantic.DeepEqual(has, size) {
		return spec
	}
	spec = spec.DeepCopy()
	if has.VCPUs != size.VCPUs {
		if perSocket := size.VCPUs / max(spec.CPU.Sockets, 1); has.VCPUs%perSocket == 0 {
			spec.CPU.Sockets = has.VCPUs / perSocket
		} else {
			spec.CPU.Sockets, spec.CPU.Cores, spec.CPU.Threads = has.VCPUs, 1, 1
		}
	}
	if spec.Memory != nil && has.Memory != nil {
		memory := has.Memory.DeepCopy()
		spec.Memory.Guest = &memory
	}
	return spec
}
