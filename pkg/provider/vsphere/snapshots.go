// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Snapshot implements driver.Machine. If the snapshot already exists, only the remaining cleanup is
// done, even if vSphere would refuse to take a snapshot now.
func (m machine) Snapshot(id driver.Identity, s provider.Snapshot) (driver.Operation, error) {
	if err := checkSnapshotable(m.vm, &s); err != nil {
		return driver.Operation{}, err
	}
	return driver.Operation{Kind: driver.KindSnapshot, Detail: string(s.UID), Run: func(ctx context.Context) error {
		vm, err := m.refreshOwned(ctx, id)
		if err != nil {
			return err
		}
		if err := checkSnapshotable(vm, &s); err != nil {
			return err
		}
		return m.driver.actor.Snapshot(ctx, vm, &s)
	}}, nil
}

func checkSnapshotable(vm *mo.VirtualMachine, s *provider.Snapshot) error {
	if observe.FindSnapshot(vm, s.UID, s.UniqueID) != nil {
		return nil
	}
	if why := observe.SnapshotObstacle(vm, s.Memory, s.Quiesce); why != "" {
		return &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonInvalid, Message: "vSphere cannot take the snapshot: " + why}
	}
	return nil
}

// RemoveSnapshot implements driver.Machine.
func (m machine) RemoveSnapshot(id driver.Identity, s provider.Snapshot) driver.Operation {
	return driver.Operation{Kind: driver.KindRemoveSnapshot, Run: func(ctx context.Context) error {
		if _, err := m.refreshOwned(ctx, id); err != nil {
			return err
		}
		return m.driver.actor.RemoveSnapshots(ctx, m.ref(), s.UID, s.UniqueID)
	}}
}

// Revert implements driver.Machine.
func (m machine) Revert(id driver.Identity, to provider.RevertTarget) driver.Operation {
	return driver.Operation{Kind: driver.KindRevert, Run: func(ctx context.Context) error {
		vm, err := m.refreshOwned(ctx, id)
		if err != nil {
			return err
		}
		return m.driver.actor.Revert(ctx, vm, to)
	}}
}

// DropSnapshotRecord implements driver.Machine.
func (m machine) DropSnapshotRecord() driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Detail: "remove the snapshot record", Run: func(ctx context.Context) error {
		return m.driver.actor.RemoveSnapshotRecord(ctx, m.ref())
	}}
}
