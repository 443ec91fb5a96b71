// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instance manages the VirtualMachineInstance of a running virtual machine. The instance has the spec that the
// VM runs with. The package also sets the VM's size in the status of the VirtualMachine.
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

// runningSpec returns the spec that a virtual machine runs with now. If the provider, which compared it with the
// hardware, reports no change that needs a power cycle, this is the desired spec. Otherwise it is the previous running
// spec with the changes that were applied live. A live change that the provider lists in restartRequired was refused by
// the hardware and is not included.
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

// State is the input of Reconcile. Reconcile runs after the conditions are merged, because the instance shows some of
// them.
type State struct {
	step.State
	// Cached is the instance in the cache with the virtual machine's name, whatever its owner is.
	Cached *vmv1alpha1.VirtualMachineInstance
}

// Reconcile creates and updates the instance of a running virtual machine, and deletes the instance of a virtual
// machine that does not run.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (report step.Report, err error) {
	if s.Cached != nil && s.Instance == nil {
		// An instance of an earlier virtual machine of this name.
		if err := r.delete(ctx, s.Cached); err != nil {
			return report, err
		}
		report.RequeueAfter(0)
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
			return report, nil // it is created when the effective spec can be resolved again
		}
		if vmi, err = r.create(ctx, &report, s.State); err != nil || vmi == nil {
			return report, err
		}
	}
	err = r.update(ctx, s.State, vmi)
	// Another client has changed or deleted it. A deleted instance must not be found again. That would happen if it was
	// deleted before the informer received it.
	if apierrors.IsNotFound(err) {
		r.Instances.RecordDelete(vmi)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		report.RequeueAfter(controller.ShortConflict)
		return report, nil
	}
	return report, err
}

// create creates the instance. If the cache was outdated and the instance exists, create returns the existing one.
func (r *Reconciler) create(ctx context.Context, report *step.Report, s step.State) (*vmv1alpha1.VirtualMachineInstance, error) {
	vmi := New(s.VM, s.Effective)
	client := r.Client.VirtualMachineInstances(vmi.Namespace)
	created, err := client.Create(ctx, vmi, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.Instances.RecordWrite(created)
		return created, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil // the virtual machine will be deleted too
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
		report.RequeueAfter(controller.ShortConflict)
		return nil, nil
	}
	r.Instances.RecordWrite(existing)
	return existing, nil
}

// update writes the running spec after a live change, and the observed state.
func (r *Reconciler) update(ctx context.Context, s step.State, vmi *vmv1alpha1.VirtualMachineInstance) error {
	client := r.Client.VirtualMachineInstances(vmi.Namespace)
	if now := runningSpecOf(&s, vmi); !equality.Semantic.DeepEqual(&vmi.Spec, now) {
		next := vmi.DeepCopy()
		next.Spec = *now.DeepCopy()
		if err := r.Instances.Admit(ctx, client, next); err != nil {
			return err
		}
		updated, err := client.Update(ctx, next, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("updating virtual machine instance %s: %w", s.Key(), err)
		}
		r.Instances.RecordWrite(updated)
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
	r.Instances.RecordWrite(updated)
	return nil
}

// runningSpecOf returns the spec that a running virtual machine with the instance vmi runs with now, or nil if it is not
// known. If vmi is nil, the virtual machine has just been started.
func runningSpecOf(s *step.State, vmi *vmv1alpha1.VirtualMachineInstance) *vmv1alpha1.VirtualMachineInstanceSpec {
	switch {
	case vmi == nil:
		return s.Effective
	case isApplied(s):
		return withSize(runningSpec(s.VM, &vmi.Spec, s.Effective), s.Observed.Size())
	}
	return withSize(&vmi.Spec, s.Observed.Size())
}

// isApplied reports whether the provider has applied the desired spec to the running virtual machine, so that the
// instance can show it.
func isApplied(s *step.State) bool {
	return s.Observed.Settled && s.Effective != nil && s.Observed.Configured
}

// Remove deletes the instance of a virtual machine that is being deleted, even if the cache lacks the instance. Nothing
// else would delete it.
func (r *Reconciler) Remove(ctx context.Context, s step.State) error {
	err := r.deleteNamed(ctx, s.Key(), metav1.DeleteOptions{})
	if err == nil && s.Instance != nil {
		r.Instances.RecordDelete(s.Instance)
	}
	return err
}

// delete deletes the instance with the UID of vmi.
func (r *Reconciler) delete(ctx context.Context, vmi *vmv1alpha1.VirtualMachineInstance) error {
	err := r.deleteNamed(ctx, controller.KeyOf(vmi), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(vmi.UID))})
	if err == nil {
		r.Instances.RecordDelete(vmi)
	}
	return err
}

// deleteNamed deletes an instance. It returns nil if the instance does not exist or does not match the preconditions in
// the options.
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

// instanceStatus returns the status of the instance of vm. It has only the virtual machine's conditions about the
// guest.
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

// SetSize sets in the status the size that vSphere shows, the desired size if it differs, and the generation of the
// class that the size comes from. The synchronizers must have set the desired values. While vSphere has not shown a
// size, the last known size is kept.
func SetSize(s *step.State) {
	before, status := &s.Original.Status, &s.VM.Status
	created, done := s.Observed.Created, isApplied(s) && len(status.RestartRequired) == 0
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
		has = instancetype.Resources(runningSpecOf(s, s.Instance))
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

// withSize returns the spec of a running virtual machine with the size that vSphere shows. The size may differ after a
// change that was applied but not stored, for example before a restart of this process.
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
