// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/bootstrap"
	"github.com/slipway-dev/slipway/pkg/controller/vm/image"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// gather runs all steps that a create depends on, so that every condition is shown immediately. It returns the request
// for the provider. The image step is skipped for a virtual machine that exists. noLocation is true if the Machine has
// not determined a location yet and vSphere cannot have a VM.
func (r *reconciler) gather(ctx context.Context, p *reconciliation, synced bool) (req *provider.Request, noLocation bool, _ error) {
	addresses, addressErr := r.addresses.Reconcile(ctx, p.State)
	p.Add(addresses.Report)
	p.Effective = addresses.Effective
	volumes, volumeErr := r.volumes.Reconcile(ctx, p.State)
	p.Add(volumes.Report)
	var source image.Report
	var imageErr error
	if !p.Observed.Created {
		source, imageErr = r.image.Reconcile(ctx, p.State)
		p.Add(source.Report)
	}
	boot, bootErr := r.bootstrap.Reconcile(ctx, bootstrap.State{State: p.State, Owner: p.owner, Image: source.Image})
	p.Add(boot.Report)
	p.Effective = boot.Effective
	ready := synced && p.Effective != nil && !p.Observed.Created && !addresses.Wait && !volumes.Wait && !boot.Wait
	noLocation = boot.MachineNotReady && p.VM.Spec.InstanceUUID == "" && provider.ZoneOf(p.VM) == ""
	return &provider.Request{
		Desired:            provider.Desired{Image: source.Image, CloneOf: source.CloneOf, AcceptEULA: p.VM.Spec.AcceptEULA, Bootstrap: boot.Data, Claims: volumes.Claims},
		PrerequisitesReady: ready && !source.Wait, CompletionReady: ready,
	}, noLocation, errors.Join(addressErr, volumeErr, imageErr, bootErr)
}

// callProvider passes the virtual machine to the provider. It does not wait for operations, unless the controller is
// blocking.
func (r *reconciler) callProvider(ctx context.Context, p *reconciliation, req *provider.Request) error {
	copies, err := r.imageCache.Reconcile(ctx, imagecache.State{State: p.State, Image: req.Image})
	p.Add(copies.Report)
	if err != nil || copies.Wait {
		return err
	}
	r.complete(p, req)
	req.FastDeploy, req.ImageCache = copies.Mode, copies.Cache
	// Without a size or a preference, the spec alone is checked, so that every condition is shown immediately.
	checked := p.Effective
	if checked == nil {
		checked = provider.InlineSpec(p.VM)
	}
	if req.CDROMImages, err = r.image.Discs(ctx, p.VM.Namespace, checked); err != nil {
		return err
	}
	req.StorageClasses = r.classes.Get(provider.StorageClassesOf(checked.StorageClass, checked.BootDisk, checked.Volumes))
	target, err := r.revert.Target(p.VM)
	if err != nil {
		return err
	}
	req.Revert = target.To

	call := r.provider.CreateOrUpdateVirtualMachineAsync
	if r.blocking {
		call = r.provider.CreateOrUpdateVirtualMachine
	}
	// A virtual machine that waits for the end of an operation is queued by the event of that.
	result, err := call(ctx, req)
	p.observe(result)
	if result.Zone != "" {
		p.RequeueAfter(0) // the next steps need the zone in the status
	}
	if isTrue(p.Original, vmv1alpha1.ConditionCreated) && !p.Observed.Created {
		p.RequeueAfter(0) // vSphere no longer has it, and this reconcile did not gather the inputs of a create
	}
	if !req.PrerequisitesReady && !p.Observed.Created && findCondition(p.vmWithConditions(), vmv1alpha1.ConditionCreated) == nil {
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "")
	}
	reverted, failed := r.revert.Reconcile(ctx, revert.State{State: p.State, Target: target, ProviderErr: err})
	p.Add(reverted.Report)
	p.restoring = reverted.Restored
	if result.Reverted != nil {
		return errors.Join(p.handleProviderError(err, "reverting"), failed)
	}
	var missing *provider.ImageCacheNotReadyError
	if errors.As(err, &missing) {
		return p.addReport(r.imageCache.RequestCopies(ctx, p.State, missing))
	}
	return p.handleProviderError(err, "creating or updating")
}

// complete adds the inputs of every provider call to req.
func (r *reconciler) complete(p *reconciliation, req *provider.Request) {
	req.Priority, _ = Priority(p.VM, controller.PriorityDefaultGeneric)
	req.VM, req.Effective, req.Now = p.vmWithConditions(), p.Effective, p.Now
	req.NamespaceLabels = r.namespaceLabels(p.VM.Namespace)
	req.Zone, req.Placement = p.owner.Zone(p.VM), r.group.Placement(p.VM)
	req.Revisions, req.Groups = r.revisions.revisionsOf(p.VM, p.pinned), r.group.Namespace(p.VM.Namespace).GroupsOf(p.VM)
}

// handleProviderError converts a provider error. Nothing is returned if an event or a change will queue the virtual
// machine, or if the error requests a requeue after a time. Other errors are returned and retried with backoff. Joined
// errors are converted one by one.
func (p *reconciliation) handleProviderError(err error, doing string) error {
	return mapErrors(err, func(err error) error {
		switch {
		case errors.Is(err, provider.ErrReconcileInProgress), errors.Is(err, provider.ErrTooManyCreates), errors.Is(err, provider.ErrTooManyOperations):
			return nil
		case errors.Is(err, provider.ErrPaused):
			p.reportPaused(err.Error())
			return nil
		case errors.Is(err, provider.ErrUnknownState):
			p.RequeueAfter(step.UnreadDelay)
			return nil
		}
		if after, ok := provider.AsRequeue(err); ok {
			p.RequeueAfter(after)
			return nil
		}
		if err = retryable(err); err != nil {
			return fmt.Errorf("%s the vSphere virtual machine: %w", doing, err)
		}
		return nil
	})
}

// retryable returns err without the parts that a retry cannot fix.
func retryable(err error) error {
	return mapErrors(err, func(err error) error {
		if provider.IsNoRequeue(err) {
			return nil
		}
		switch instancetype.Reason(err) {
		case vmv1alpha1.ReasonNotFound, vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonConflict, vmv1alpha1.ReasonRequirementsNotMet:
			return nil // a user must change an object first, and that causes an event
		}
		return err
	})
}

// mapErrors joins the results of f for the parts of err, which may be nil or joined.
func mapErrors(err error, f func(error) error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return f(err)
	}
	var kept []error
	for _, part := range joined.Unwrap() {
		kept = append(kept, mapErrors(part, f))
	}
	return errors.Join(kept...)
}
