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

// reconciler makes the passes.
type reconciler struct {
	client    vmclient.VmV1alpha1Interface
	revisions itclient.ControllerRevisionsGetter
	snapshots controller.Store[*snapshot]
	machines  vmlisters.VirtualMachineLister
	// beside are the snapshots of a virtual machine.
	beside   func(types.NamespacedName) []*snapshot
	provider provider.Snapshotter
	shard    controller.Shard
	// vcenterOf names the vCenter of a virtual machine.
	vcenterOf func(*vmv1alpha1.VirtualMachine) string
	recorder  events.EventRecorder
	now       func() time.Time
}

// pass is one look at a snapshot.
type pass struct {
	*reconciler
	// snapshot is what the pass writes; vm is nil when there is none.
	snapshot *snapshot
	vm       *vmv1alpha1.VirtualMachine
	result   controller.Result
}

// Reconcile brings a snapshot closer to its end.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.snapshots.Get(key)
	if err != nil || stored == nil {
		return controller.Result{}, err
	}
	p := &pass{reconciler: r, snapshot: stored.DeepCopy()}
	if p.vm, err = controller.Found(r.machines.VirtualMachines(key.Namespace).Get(stored.Spec.VMName)); err != nil {
		return controller.Result{}, fmt.Errorf("reading virtual machine %s/%s: %w", key.Namespace, stored.Spec.VMName, err)
	}
	bound, err := r.shard.Bind(ctx, p.vcenter())
	if err != nil {
		return controller.Result{}, ctx.Err() // The vCenter is another process's.
	}
	ctx = bound
	if stored.DeletionTimestamp != nil {
		return p.remove(ctx)
	}
	switch written, err := p.prepare(ctx); {
	case err != nil:
		return controller.Overtaken(err)
	case written:
		return controller.Result{Requeue: true}, nil
	}
	failed := p.advance(ctx)
	conditions.KeepTimes(stored.Status.Conditions, p.snapshot.Status.Conditions)
	if err := p.persist(ctx); err != nil {
		return controller.Overtaken(err)
	}
	r.emit(stored, p.snapshot)
	return p.result, failed
}

// persist is the one place that writes status.
func (p *pass) persist(ctx context.Context) error {
	p.snapshot.Status.ObservedGeneration = p.snapshot.Generation
	return p.snapshots.UpdateStatus(ctx, p.client.VirtualMachineSnapshots(p.snapshot.Namespace), p.snapshot)
}

// vcenter names the vCenter of the virtual machine; it is empty without one.
func (p *pass) vcenter() string {
	if p.vm == nil {
		return ""
	}
	return p.vcenterOf(p.vm)
}

// prepare gives the object its finalizer and its owner.
func (p *pass) prepare(ctx context.Context) (written bool, err error) {
	if !slices.Contains(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer) {
		p.snapshot.Finalizers, written = append(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer), true
	}
	if p.vm != nil && p.vm.DeletionTimestamp == nil && provider.MachineOf(p.snapshot) == "" {
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

// remove lets go of a snapshot that vSphere has none of, or that is gone with its virtual
// machine.
func (p *pass) remove(ctx context.Context) (controller.Result, error) {
	kept := slices.Contains(p.snapshot.Finalizers, vmv1alpha1.SnapshotFinalizer)
	// Of one whose virtual machine vSphere never had nothing can have been begun. Owner references
	// decide nothing here: a snapshot in vSphere has the UID of its object.
	there := p.vm != nil && p.vm.DeletionTimestamp == nil && p.vm.Status.UniqueID != ""
	if kept && there && conditions.Find(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) != nil {
		if err := p.provider.RemoveSnapshot(ctx, p.request("")); err != nil {
			return p.stillThere(ctx, err)
		}
	}
	return controller.RemoveFinalizer(ctx, p.snapshots, p.client.VirtualMachineSnapshots(p.snapshot.Namespace), p.snapshot, vmv1alpha1.SnapshotFinalizer)
}

// stillThere says why a snapshot that is deleted does not go yet.
func (p *pass) stillThere(ctx context.Context, err error) (controller.Result, error) {
	failed := p.notYet(err, vmv1alpha1.ReasonDeleting, "the snapshot is removed")
	written := p.persist(ctx)
	if written != nil && !apierrors.IsNotFound(written) {
		return controller.Overtaken(written)
	}
	return p.result, failed
}

// notYet tells in Ready why something is not done, and when the snapshot is looked at again.
// An error that it returns is retried with a growing delay. While it is done Ready has doing
// as its reason.
func (p *pass) notYet(err error, doing, message string) error {
	if after, ok := provider.AsRequeue(err); ok {
		p.result.RequeueAfter = max(after, controller.Soon)
	}
	var refused *provider.SnapshotRefusedError
	switch {
	case errors.As(err, &refused):
		p.not(refused.Reason, refused.Message)
		p.result.RequeueAfter = max(p.result.RequeueAfter, controller.Recheck)
		return nil
	case errors.Is(err, provider.ErrReconcileInProgress):
		p.not(doing, message)
		return nil
	case errors.Is(err, provider.ErrSourceBusy):
		p.not(vmv1alpha1.ReasonSourceBusy, err.Error())
		return nil
	case errors.Is(err, provider.ErrTooManyOperations):
		p.not(vmv1alpha1.ReasonTooManyOperations, "other snapshots come first")
		return nil
	case errors.Is(err, provider.ErrPaused):
		p.not(vmv1alpha1.ReasonPaused, err.Error())
		p.result.RequeueAfter = controller.Recheck
		return nil
	case errors.Is(err, provider.ErrUnknownState), errors.Is(err, provider.ErrNotInUse):
		p.not(vmv1alpha1.ReasonUnknownState, err.Error())
		p.result.RequeueAfter = controller.Recheck
		return nil
	}
	p.not(vmv1alpha1.ReasonError, err.Error())
	if p.result.RequeueAfter > 0 {
		return nil
	}
	return fmt.Errorf("snapshot %s: %w", controller.KeyOf(p.snapshot), err)
}
