// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Reconcile reads the virtual machine of key, deletes it or brings it towards its
// spec, and writes what changed. If both the reconcile and the write fail, the error
// of the write is only logged. A conflict is not an error: the object is read again.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	original, err := r.vms.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading virtual machine %s: %w", key, err)
	}
	if original == nil {
		r.forget(key)
		return controller.Result{}, nil
	}
	bound, err := r.shard.Bind(ctx, r.vcenterOf(original))
	if err != nil {
		return controller.Result{}, ctx.Err() // another process takes care of it
	}
	ctx = bound

	p := newPass(original, r.now())
	p.owner = owner.Read(r.machines, p.VM)
	var passErr error
	if p.VM.DeletionTimestamp != nil {
		passErr = r.reconcileDelete(ctx, p)
	} else {
		passErr = r.reconcileNormal(ctx, p)
	}
	p.merge()
	return combine(ctx, p, passErr, r.persist(ctx, p))
}

// combine makes one answer of the errors of a pass and of its write.
func combine(ctx context.Context, p *pass, passErr, persistErr error) (controller.Result, error) {
	switch {
	case persistErr == nil:
	case apierrors.IsConflict(persistErr):
		klog.FromContext(ctx).V(4).Info("The virtual machine changed during the pass, reading it again")
		// Not at once, whatever the pass wanted: it would meet the same conflict.
		p.Next = controller.Result{RequeueAfter: controller.ShortConflict}
	case passErr == nil:
		passErr = persistErr
	default:
		klog.FromContext(ctx).Error(persistErr, "Writing the virtual machine back failed after a failed pass")
	}
	if passErr != nil {
		return controller.Result{}, fmt.Errorf("reconciling virtual machine %s: %w", p.Key(), passErr)
	}
	if p.Next.Requeue {
		p.Next.RequeueAfter = 0 // at once is earlier
	}
	return p.Next, nil
}

// reconcileNormal brings a virtual machine that is not being deleted towards its
// spec.
func (r *reconciler) reconcileNormal(ctx context.Context, p *pass) error {
	if p.pauses("reconciling") {
		return nil
	}
	if !hasFinalizer(p.VM) {
		p.VM.Finalizers = append(p.VM.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
		p.Again(0)
		return nil
	}
	p.Remove(vmv1alpha1.ConditionPaused)

	vmi, err := r.instance.Instances.Get(p.Key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	p.Instance = controller.IfOwned(vmi, p.VM)

	var errs []error
	errs = append(errs, p.take(r.group.Reconcile(ctx, p.State)))
	synced, err := r.synchronize(ctx, p)
	errs = append(errs, err)
	req, nowhere, err := r.gather(ctx, p, synced)
	errs = append(errs, err)
	if nowhere {
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionMachineReady)
	} else {
		errs = append(errs, r.callProvider(ctx, p, req))
	}
	if !p.restoring { // All else is for the spec of the next pass.
		errs = append(errs, p.take(r.volumes.Release(ctx, p.State)))
	}
	probed, err := r.probe.Reconcile(ctx, p.State)
	p.Add(probed.Report)
	finish(p, probed.Answer)
	if !p.restoring {
		err = errors.Join(err, p.take(r.instance.Reconcile(ctx, instance.State{State: p.State, Found: vmi})))
	}
	return errors.Join(append(errs, err)...)
}

// synchronize runs all synchronizers, which resolve the effective spec too. What fails
// is shown in conditions; only what a retry can cure is returned.
func (r *reconciler) synchronize(ctx context.Context, p *pass) (synced bool, _ error) {
	result, err := r.chain.Sync(ctx, p.VM, p.Instance)
	p.VM, p.Effective, p.captured = result.VM, result.Effective, result.Captured
	if instancetype.IsMissing(err) && refersToUnwatched(p.VM) {
		p.Again(controller.Recheck)
	}
	return err == nil, retryable(err)
}

// pauses is true while nothing is to be done, and reports why.
func (p *pass) pauses(doing string) bool {
	paused, by := p.owner.Paused(p.VM)
	if by != "" {
		p.paused(doing + " is paused " + by)
	} else if paused {
		summarize(p.VM)
	}
	return paused
}

// refersToUnwatched says whether the size or the preference of vm depends on an
// object whose appearance no watch reports: a claim that something is inferred
// from, or a revision. Instance types, preferences and classes are watched.
func refersToUnwatched(vm *vmv1alpha1.VirtualMachine) bool {
	if m := vm.Spec.Instancetype; m != nil && (m.InferFromVolume != "" || m.ControllerRevisionRef != nil || m.RevisionName != "") {
		return true
	}
	if m := vm.Spec.Preference; m != nil && (m.InferFromVolume != "" || m.ControllerRevisionRef != nil || m.RevisionName != "") {
		return true
	}
	i, p := vm.Status.InstancetypeRef, vm.Status.PreferenceRef
	return i != nil && i.ControllerRevisionRef != nil || p != nil && p.ControllerRevisionRef != nil
}

// forget drops what is kept of a virtual machine that is gone.
func (r *reconciler) forget(key types.NamespacedName) {
	r.provider.Forget(key)
	r.probe.Forget(key)
}
