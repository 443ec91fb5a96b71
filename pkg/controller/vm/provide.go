// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// unknownDelay is for a hypervisor that cannot be read. A hint comes when it
// can again; this is the net below it, and wide, since it concerns all virtual
// machines at once.
const unknownDelay = time.Minute

// callProvider hands the virtual machine to the provider. It never waits for an
// operation, unless the controller was asked to block.
func (r *reconciler) callProvider(ctx context.Context, p *pass, ready prerequisites) error {
	if p.nowhere() {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionMachineReady)
		return nil
	}
	copies, err := r.imageCache.Reconcile(ctx, imagecache.State{State: p.State, Image: ready.image})
	p.Add(copies.Report)
	if err != nil || copies.Wait {
		return err
	}
	req := r.request(p)
	req.FastDeploy, req.ImageCache = copies.Mode, copies.Cache
	if p.Effective != nil {
		if req.Discs, err = r.discs(ctx, p); err != nil {
			return err
		}
		req.StorageClasses = r.classes.named(provider.StorageClassesOf(p.Effective.StorageClass, p.Effective.BootDisk, p.Effective.Volumes))
	}
	req.Image = ready.image
	req.Bootstrap = ready.bootstrap
	req.CloneOf = ready.cloneOf
	req.PrerequisitesReady, req.CompletionReady = ready.ready, ready.rest

	target, err := r.revert.Target(p.VM)
	if err != nil {
		return err
	}
	req.Revert = target.To

	call := r.provider.CreateOrUpdateVirtualMachineAsync
	if r.blocking {
		call = r.provider.CreateOrUpdateVirtualMachine
	}
	// Who waits for the end of an operation is woken by the hint that follows it.
	result, err := call(ctx, req)
	p.observe(result)
	if result.Zone != "" {
		p.Again(0) // what comes next is for when status has the zone
	}
	if isTrue(p.Stored, vmv1alpha1.ConditionCreated) && !p.Observed.Created {
		p.Again(0) // it is gone from vSphere; what a create needs was not gathered in this pass
	}
	if !ready.ready && !p.Observed.Created && findCondition(p.shown(), vmv1alpha1.ConditionCreated) == nil {
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "")
	}
	reverted, failed := r.revert.Reconcile(ctx, revert.State{State: p.State, Target: target, Answer: err})
	p.Add(reverted.Report)
	p.restoring = reverted.Restored
	if result.Reverted != nil {
		return errors.Join(p.outcome(err, "reverting"), failed)
	}
	var lacks *provider.ImageCacheNotReadyError
	if errors.As(err, &lacks) {
		return p.take(r.imageCache.Request(ctx, p.State, lacks))
	}
	return p.outcome(err, "creating or updating")
}

// request is what every call of the provider is given.
func (r *reconciler) request(p *pass) *provider.Request {
	priority, _ := Priority(p.VM, controller.PriorityDefaultGeneric)
	return &provider.Request{
		VM: p.shown(), NamespaceLabels: r.labels(p.VM.Namespace), Effective: p.Effective, Claims: p.claims, Priority: priority, Now: p.Now,
		Zone:      p.machine.zone(p.VM),
		Placement: r.group.Placement(p.VM),
		Revisions: r.revisionsOf(p),
		Groups:    r.group.Namespace(p.VM.Namespace).GroupsOf(p.VM),
	}
}

// revisionsOf are the revisions that the virtual machine has captured, as far as the cache or
// this pass has them.
func (r *reconciler) revisionsOf(p *pass) []*itv1alpha1.ControllerRevision {
	var out []*itv1alpha1.ControllerRevision
	for _, name := range vmrecord.RevisionNames(p.VM) {
		at := slices.IndexFunc(p.captured, func(c *itv1alpha1.ControllerRevision) bool { return c.Name == name })
		if at >= 0 {
			out = append(out, p.captured[at])
		} else if cached, err := r.revisions.lister.ControllerRevisions(p.VM.Namespace).Get(name); err == nil {
			out = append(out, cached)
		}
	}
	return out
}

// outcome turns an error of the provider into what happens next: nothing when a
// hint or a change will wake the virtual machine, another pass after a time, or
// an error that is retried with growing delay. Of several errors each has its say.
func (p *pass) outcome(err error, doing string) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var kept []error
		for _, part := range joined.Unwrap() {
			kept = append(kept, p.outcome(part, doing))
		}
		return errors.Join(kept...)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, provider.ErrReconcileInProgress), errors.Is(err, provider.ErrTooManyCreates),
		errors.Is(err, provider.ErrTooManyOperations):
		return nil
	case errors.Is(err, provider.ErrPaused):
		p.paused(err.Error())
		return nil
	case errors.Is(err, provider.ErrUnknownState):
		p.Again(unknownDelay)
		return nil
	}
	if after, ok := provider.AsRequeue(err); ok {
		p.Again(after)
		return nil
	}
	if err = retryable(err); err != nil {
		return fmt.Errorf("%s the vSphere virtual machine: %w", doing, err)
	}
	return nil
}

// retryable returns err without the parts of which a retry is known not to help.
func retryable(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var kept []error
		for _, part := range joined.Unwrap() {
			kept = append(kept, retryable(part))
		}
		return errors.Join(kept...)
	}
	if provider.IsNoRequeue(err) {
		return nil
	}
	switch instancetype.Reason(err) {
	case vmv1alpha1.ReasonNotFound, vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonConflict, vmv1alpha1.ReasonRequirementsNotMet:
		return nil // somebody has to change an object first, which is then seen
	}
	return err
}
