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
	defer e.passed(s.Key())
	p, own, err := e.passFor(s.Key(), s.UID, s.VM, s.Now)
	if err != nil {
		return nil, err
	}
	seen := e.driver.Look(p.want.Identity)
	observed, err := p.snapshotted(seen, s)
	if err != nil {
		return nil, err
	}
	made := madeFor(observed.Snapshots, s)
	switch {
	case made != nil && (observed.Kept == nil || observed.Kept.UID != s.UID || s.UniqueID != "" || plan.Reverting(s.VM)):
		// A snapshot with a known ID is complete. The stored record is then from a revert.
		if own.last != nil {
			e.change(s.Key(), s.UID, func(r *record) { r.last = nil })
		}
		return made, nil
	case made == nil && s.UniqueID != "":
		return nil, provider.ErrSnapshotMissing
	case observed.Kept != nil && observed.Kept.UID != s.UID:
		return nil, &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: "waiting until the object is restored after a revert"}
	case made == nil:
		if err := first(observed, s.VM); err != nil {
			return nil, err
		}
	}
	kept := *s
	kept.VM = nil
	op, err := seen.Machine.Snapshot(p.want.Identity, kept)
	if err != nil {
		return nil, err
	}
	return nil, p.startFor(ctx, own, op, "the snapshot is retried")
}

// snapshotted returns the observed state of a virtual machine, or a SnapshotRefusedError if it cannot be used for
// snapshots.
func (p *pass) snapshotted(seen driver.Sighting, s *provider.Snapshot) (provider.Observation, error) {
	return p.usable(seen, func(reason, what string) error {
		return &provider.SnapshotRefusedError{Reason: reason, Message: fmt.Sprintf("VirtualMachine %q %s", s.Source.Name, what)}
	})
}

// usable returns the observed state of a virtual machine that is used by another object. If it cannot be used, it
// returns the error of refuse.
func (p *pass) usable(seen driver.Sighting, refuse func(reason, what string) error) (provider.Observation, error) {
	switch {
	case seen.State == driver.Unknown:
		p.engine.await(p.key, p.uid())
		return provider.Observation{}, provider.ErrUnknownState
	case seen.State == driver.Absent || seen.Ownership != driver.Own:
		return provider.Observation{}, refuse(vmv1alpha1.ReasonNotFound, "does not exist in vSphere")
	}
	observed := seen.Machine.Observe(p.want)
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

// first returns an error if something must happen before the snapshot because it is not possible afterwards.
func first(observed provider.Observation, vm *vmv1alpha1.VirtualMachine) error {
	wait := func(format string, args ...any) error {
		return &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case observed.Customizing:
		return wait("the guest is being customized, or will be at its next start")
	case observed.Depending > 0 && vm.Spec.PromoteDisksMode != vmv1alpha1.PromoteDisksModeDisabled:
		return wait("%d disks depend on parent disks elsewhere and are promoted first (spec.promoteDisksMode)", observed.Depending)
	}
	return nil
}

// madeFor returns the observed snapshot of an object, or nil.
func madeFor(all []provider.ObservedSnapshot, s *provider.Snapshot) *provider.ObservedSnapshot {
	for i := range all {
		if all[i].UID == s.UID || s.UniqueID != "" && all[i].UniqueID == s.UniqueID {
			return &all[i]
		}
	}
	return nil
}

// RemoveSnapshot implements provider.Snapshotter.
func (e *Engine) RemoveSnapshot(ctx context.Context, s *provider.Snapshot) error {
	defer e.passed(s.Key())
	if own := e.snapshot(s.Key(), s.UID); own.gone {
		e.forget(s.Key())
		return nil
	}
	p, own, err := e.passFor(s.Key(), s.UID, s.VM, s.Now)
	if err != nil {
		return err
	}
	seen := e.driver.Look(p.want.Identity)
	observed, err := p.snapshotted(seen, s)
	switch {
	case err != nil:
		return err
	case observed.Kept != nil && (observed.Kept.UID != s.UID || plan.Reverting(s.VM)):
		return &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites, Message: "waiting until the object is restored after a revert"}
	}
	kept := *s
	kept.VM = nil
	op := p.endingFor(seen.Machine.RemoveSnapshot(p.want.Identity, kept))
	op.Detail = string(s.UID)
	return p.startFor(ctx, own, op, "the removal of the snapshot is retried")
}

// ForgetSnapshot implements provider.Snapshotter.
func (e *Engine) ForgetSnapshot(key types.NamespacedName) {
	e.forget(provider.Key{Kind: provider.KindSnapshot, NamespacedName: key})
}
