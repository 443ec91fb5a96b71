// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

var _ provider.Snapshotter = (*Engine)(nil)

// Snapshot implements provider.Snapshotter. The operation belongs to the virtual machine, so that no other operation
// changes it in the meantime.
func (e *Engine) Snapshot(ctx context.Context, s *provider.Snapshot) (*provider.ObservedSnapshot, error) {
	defer e.returnUnusedOffers(s.Key())
	p, own, err := e.newReconciliationFor(s.Key(), s.UID, s.VM, s.Now)
	if err != nil {
		return nil, err
	}
	seen := e.driver.Observe(p.desired.Identity)
	observed, err := p.observeForSnapshot(seen, s)
	if err != nil {
		return nil, err
	}
	made := findSnapshot(observed.Snapshots, s)
	switch {
	case made != nil && (observed.StoredSnapshot == nil || observed.StoredSnapshot.UID != s.UID || s.UniqueID != "" || plan.IsReverting(s.VM)):
		// A snapshot with a known ID is complete. The stored record is then from a revert.
		if own.outcomes != nil {
			e.updateState(s.Key(), s.UID, func(r *objectState) { r.outcomes = nil })
		}
		return made, nil
	case made == nil && s.UniqueID != "":
		return nil, provider.ErrSnapshotMissing
	case observed.StoredSnapshot != nil && observed.StoredSnapshot.UID != s.UID:
		return nil, &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: "waiting until the object is restored after a revert"}
	case made == nil:
		if err := checkSnapshotPrerequisites(observed, s.VM); err != nil {
			return nil, err
		}
	}
	kept := *s
	kept.VM = nil
	op, err := seen.Machine.Snapshot(p.desired.Identity, kept)
	if err != nil {
		return nil, err
	}
	return nil, p.startFor(ctx, own, op, "the snapshot is retried")
}

// observeForSnapshot returns the observed state of a virtual machine, or a SnapshotRefusedError if it cannot be used
// for snapshots.
func (p *reconciliation) observeForSnapshot(seen driver.Observed, s *provider.Snapshot) (provider.Observation, error) {
	return p.observeUsable(seen, func(reason, what string) error {
		return &provider.SnapshotRefusedError{Reason: reason, Message: fmt.Sprintf("VirtualMachine %q %s", s.Source.Name, what)}
	})
}

// observeUsable returns the observed state of a virtual machine that is used by another object. If it cannot be used,
// it returns the error of refuse.
func (p *reconciliation) observeUsable(seen driver.Observed, refuse func(reason, what string) error) (provider.Observation, error) {
	switch {
	case seen.State == driver.Unknown:
		p.engine.awaitRead(p.key, p.uid())
		return provider.Observation{}, provider.ErrUnknownState
	case seen.State == driver.Absent || seen.Ownership != driver.Own:
		return provider.Observation{}, refuse(vmv1alpha1.ReasonNotFound, "does not exist in vSphere")
	}
	observed := seen.Machine.Observe(p.desired)
	switch {
	case observed.Trouble != "" || !observed.Readable:
		return provider.Observation{}, refuse(vmv1alpha1.ReasonNotReady, "cannot be read: "+observed.Trouble)
	case observed.Paused:
		return provider.Observation{}, refuse(vmv1alpha1.ReasonPaused, "is paused by an administrator in vSphere")
	case observed.Unfinished:
		return provider.Observation{}, refuse(vmv1alpha1.ReasonNotReady, "is not created")
	}
	return observed, nil
}

// checkSnapshotPrerequisites returns an error if something must happen before the snapshot because it is not possible
// afterwards.
func checkSnapshotPrerequisites(observed provider.Observation, vm *vmv1alpha1.VirtualMachine) error {
	wait := func(format string, args ...any) error {
		return &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case observed.Customizing:
		return wait("the guest is being customized, or will be at its next start")
	case observed.DependentDisks > 0 && vm.Spec.PromoteDisksMode != vmv1alpha1.PromoteDisksModeDisabled:
		return wait("%d disk(s) depend on parent disks outside the virtual machine and are promoted first (spec.promoteDisksMode)", observed.DependentDisks)
	}
	return nil
}

// findSnapshot returns the observed snapshot of an object, or nil.
func findSnapshot(all []provider.ObservedSnapshot, s *provider.Snapshot) *provider.ObservedSnapshot {
	for i := range all {
		if all[i].UID == s.UID || s.UniqueID != "" && all[i].UniqueID == s.UniqueID {
			return &all[i]
		}
	}
	return nil
}

// RemoveSnapshot implements provider.Snapshotter.
func (e *Engine) RemoveSnapshot(ctx context.Context, s *provider.Snapshot) error {
	defer e.returnUnusedOffers(s.Key())
	if own := e.stateOf(s.Key(), s.UID); own.deleted {
		e.forget(s.Key())
		return nil
	}
	p, own, err := e.newReconciliationFor(s.Key(), s.UID, s.VM, s.Now)
	if err != nil {
		return err
	}
	seen := e.driver.Observe(p.desired.Identity)
	observed, err := p.observeForSnapshot(seen, s)
	switch {
	case err != nil:
		return err
	case observed.StoredSnapshot != nil && (observed.StoredSnapshot.UID != s.UID || plan.IsReverting(s.VM)):
		return &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: "waiting until the object is restored after a revert"}
	}
	kept := *s
	kept.VM = nil
	op := p.markOwnerDeletedAfter(seen.Machine.RemoveSnapshot(p.desired.Identity, kept))
	op.Detail = string(s.UID)
	return p.startFor(ctx, own, op, "the removal of the snapshot is retried")
}

// ForgetSnapshot implements provider.Snapshotter.
func (e *Engine) ForgetSnapshot(key types.NamespacedName) {
	e.forget(provider.Key{Kind: provider.KindSnapshot, NamespacedName: key})
}
