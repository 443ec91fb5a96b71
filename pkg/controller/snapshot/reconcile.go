// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	itclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/instancetype/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// reconciler reconciles snapshots.
type reconciler struct {
	client    vmclient.VmV1alpha1Interface
	revisions itclient.ControllerRevisionsGetter
	snapshots controller.Store[*snapshot]
	machines  vmlisters.VirtualMachineLister
	// siblings returns the snapshots of a VM.
	siblings func(types.NamespacedName) []*snapshot
	provider provider.Snapshotter
	shard    controller.Shard
	// vcenterOf returns the name of the VCenter of a VM.
	vcenterOf func(*vmv1alpha1.VirtualMachine) string
	recorder  events.EventRecorder
	now       func() time.Time
}

// reconciliation is one reconcile of a snapshot.
type reconciliation struct {
	*reconciler
	// snapshot is the object that is written. vm is nil if it does not exist.
	snapshot *snapshot
	vm       *vmv1alpha1.VirtualMachine
	result   controller.Result
}

// Reconcile takes the next step of a snapshot.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.snapshots.Get(key)
	if err != nil || stored == nil {
		return controller.Result{}, err
	}
	p := &reconciliation{reconciler: r, snapshot: stored.DeepCopy()}
	if p.vm, err = controller.IgnoreNotFound(r.machines.VirtualMachines(key.Namespace).Get(stored.Spec.VMName)); err != nil {
		return controller.Result{}, fmt.Errorf("reading virtual machine %s/%s: %w", key.Namespace, stored.Spec.VMName, err)
	}
	bound, err := r.shard.Bind(ctx, p.vcenter())
	if err != nil {
		return controller.Result{}, ctx.Err() // another replica owns the vCenter
	}
	ctx = bound
	if stored.DeletionTimestamp != nil {
		return p.remove(ctx)
	}
	switch written, err := p.prepare(ctx); {
	case err != nil:
		return controller.RequeueOnConflict(err)
	case written:
		return controller.Result{Requeue: true}, nil
	}
	failed := p.advance(ctx)
	conditions.KeepTimes(stored.Status.Conditions, p.snapshot.Status.Conditions)
	if err := p.persist(ctx); err != nil {
		return controller.RequeueOnConflict(err)
	}
	r.emit(stored, p.snapshot)
	return p.result, failed
}

// persist writes the status.
func (p *reconciliation) persist(ctx context.Context) error {
	p.snapshot.Status.ObservedGeneration = p.snapshot.Generation
	return p.snapshots.UpdateStatus(ctx, p.client.VirtualMachineSnapshots(p.snapshot.Namespace), p.snapshot)
}

// vcenter returns the name of the VM's VCenter, or an empty string if there is no VM.
func (p *reconciliation) vcenter() string {
	if p.vm == nil {
		return ""
	}
	return p.vcenterOf(p.vm)
}

// prepare adds the finalizer and the owner reference. It reports whether the object was written.
func (p *reconciliation) prepare(ctx context.Context) (written bool, err error) {
	if !slices.Contains(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer) {
		p.snapshot.Finalizers, written = append(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer), true
	}
	if p.vm != nil && p.vm.DeletionTimestamp == nil && provider.OwnerVMUID(p.snapshot) == "" {
		p.snapshot.OwnerReferences = append(p.snapshot.OwnerReferences, metav1.OwnerReference{
			APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine", Name: p.vm.Name, UID: p.vm.UID,
		})
		written = true
	}
	if !written {
		return false, nil
	}
	_, err = p.snapshots.Update(ctx, p.client.VirtualMachineSnapshots(p.snapshot.Namespace), p.snapshot)
	return true, err
}

// remove removes the finalizer when vSphere no longer has the snapshot, or when the VM is deleted.
func (p *reconciliation) remove(ctx context.Context) (controller.Result, error) {
	kept := slices.Contains(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer)
	// Nothing can have been started if the VM was never in vSphere. Owner references are not checked: a snapshot in vSphere
	// has the UID of its object.
	mayExist := p.vm != nil && p.vm.DeletionTimestamp == nil && p.vm.Status.UniqueID != ""
	if kept && mayExist && conditions.Find(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) != nil {
		if err := p.provider.RemoveSnapshot(ctx, p.request("")); err != nil {
			return p.setDeleting(ctx, err)
		}
	}
	return controller.RemoveFinalizer(ctx, p.snapshots, p.client.VirtualMachineSnapshots(p.snapshot.Namespace), p.snapshot, vmv1alpha1.SnapshotFinalizer)
}

// setDeleting sets Ready with the reason why the finalizer is not removed.
func (p *reconciliation) setDeleting(ctx context.Context, err error) (controller.Result, error) {
	failed := p.handleError(err, vmv1alpha1.ReasonDeleting, "the snapshot is being removed")
	written := p.persist(ctx)
	if written != nil && !apierrors.IsNotFound(written) {
		return controller.RequeueOnConflict(written)
	}
	return p.result, failed
}

// handleError sets Ready for an error of the provider and the delay of the next reconcile. doing is the reason of Ready while
// the operation runs. If handleError returns an error, the snapshot is retried with a growing delay.
func (p *reconciliation) handleError(err error, doing, message string) error {
	if after, ok := provider.AsRequeue(err); ok {
		p.result.RequeueAfter = max(after, controller.Soon)
	}
	var refused *provider.SnapshotRefusedError
	switch {
	case errors.As(err, &refused):
		p.setNotReady(refused.Reason, refused.Message)
		p.result.RequeueAfter = max(p.result.RequeueAfter, controller.Recheck)
		return nil
	case errors.Is(err, provider.ErrReconcileInProgress):
		p.setNotReady(doing, message)
		return nil
	case errors.Is(err, provider.ErrSourceBusy):
		p.setNotReady(vmv1alpha1.ReasonSourceBusy, err.Error())
		return nil
	case errors.Is(err, provider.ErrTooManyOperations):
		p.setNotReady(vmv1alpha1.ReasonTooManyOperations, "waiting for a free snapshot slot")
		return nil
	case errors.Is(err, provider.ErrPaused):
		p.setNotReady(vmv1alpha1.ReasonPaused, err.Error())
		p.result.RequeueAfter = controller.Recheck
		return nil
	case errors.Is(err, provider.ErrUnknownState), errors.Is(err, provider.ErrNotInUse):
		p.setNotReady(vmv1alpha1.ReasonUnknownState, err.Error())
		p.result.RequeueAfter = controller.Recheck
		return nil
	}
	p.setNotReady(vmv1alpha1.ReasonError, err.Error())
	if p.result.RequeueAfter > 0 {
		return nil
	}
	return fmt.Errorf("snapshot %s: %w", controller.KeyOf(p.snapshot), err)
}
