// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// maxSnapshotName is vSphere's limit for the length of names, in characters.
const maxSnapshotName = 80

// Snapshot stores the object record in the VM (observe.SnapshotRecordKey), takes a snapshot that
// contains the record, and removes the record from the VM. If the snapshot already exists, it only
// removes the record.
func (a *Actor) Snapshot(ctx context.Context, vm *mo.VirtualMachine, s *provider.Snapshot) error {
	if observe.FindSnapshot(vm, s.UID, s.UniqueID) == nil {
		if err := a.setSnapshotRecord(ctx, vm.Self, string(s.UID)+"/"+s.Record); err != nil {
			return fmt.Errorf("storing the object record in the VM: %w", err)
		}
		if err := a.takeSnapshot(ctx, vm.Self, s); err != nil {
			return a.refreshAfter(ctx, vm.Self, fmt.Errorf("taking a snapshot of %s: %w", vm.Self.Value, err))
		}
	}
	if err := a.RemoveSnapshotRecord(ctx, vm.Self); err != nil {
		return fmt.Errorf("the snapshot was taken; %w", err)
	}
	return nil
}

func (a *Actor) takeSnapshot(ctx context.Context, vm types.ManagedObjectReference, s *provider.Snapshot) error {
	req := types.CreateSnapshotEx_Task{
		This: vm, Name: s.Name[:min(len(s.Name), maxSnapshotName)], Memory: s.Memory, Description: observe.DescribeSnapshot(s.Description, s.Name, s.UID),
	}
	if s.Quiesce {
		// The unit is minutes. 0 means vSphere's default.
		req.QuiesceSpec = &types.VirtualMachineGuestQuiesceSpec{Timeout: int32((s.QuiesceTimeout + time.Minute - 1) / time.Minute)}
	}
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CreateSnapshotEx_Task(ctx, c, &req)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return err
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm == nil || observe.FindSnapshot(vm, s.UID, "") != nil })
}

// setSnapshotRecord sets the record that the next snapshot contains. An empty value removes it.
func (a *Actor) setSnapshotRecord(ctx context.Context, vm types.ManagedObjectReference, value string) error {
	return a.Reconfigure(ctx, vm, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.SnapshotRecordKey, Value: value}},
	})
}

// RemoveSnapshotRecord removes the snapshot record from the VM. Existing snapshots keep their records.
func (a *Actor) RemoveSnapshotRecord(ctx context.Context, vm types.ManagedObjectReference) error {
	if err := a.setSnapshotRecord(ctx, vm, ""); err != nil {
		return fmt.Errorf("removing the snapshot record from the VM: %w", err)
	}
	return nil
}

// RemoveSnapshots removes the snapshots with the object's UID, and keeps their children. There are
// several if a request was repeated. It first removes the record from the VM. This fails while
// vSphere is still taking a snapshot that an earlier process has requested, so that this snapshot is not missed.
func (a *Actor) RemoveSnapshots(ctx context.Context, vm types.ManagedObjectReference, uid ktypes.UID, id string) error {
	if err := a.RemoveSnapshotRecord(ctx, vm); err != nil {
		return err
	}
	var removed types.ManagedObjectReference
	for {
		now, err := a.Inventory.Refresh(ctx, vm)
		if err != nil || now == nil {
			return err
		}
		found := observe.FindSnapshot(now, uid, id)
		if found == nil {
			if removed.Value != "" && now.Runtime.ConsolidationNeeded {
				a.consolidate(ctx, vm)
			}
			return nil
		}
		ref := snapshotRef(found)
		if ref == removed {
			return fmt.Errorf("vSphere still shows snapshot %s of %s after its removal", found.UniqueID, vm.Value)
		}
		removed = ref
		if err := a.removeSnapshot(ctx, ref); err != nil {
			return a.refreshAfter(ctx, vm, fmt.Errorf("removing snapshot %s of %s: %w", found.UniqueID, vm.Value, err))
		}
	}
}

func snapshotRef(s *provider.ObservedSnapshot) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: s.UniqueID}
}

func (a *Actor) removeSnapshot(ctx context.Context, snapshot types.ManagedObjectReference) error {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.RemoveSnapshot_Task(ctx, c, &types.RemoveSnapshot_Task{This: snapshot, RemoveChildren: false, Consolidate: types.NewBool(true)})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if vimfault.IsNotFound(err, snapshot) {
		return nil
	}
	return err
}

// consolidate tries once to consolidate the disks after the removal of a snapshot. If the attempt
// fails, a condition reports that consolidation is needed.
func (a *Actor) consolidate(ctx context.Context, vm types.ManagedObjectReference) {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.ConsolidateVMDisks_Task(ctx, c, &types.ConsolidateVMDisks_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to consolidate the disks after removing a snapshot", "vm", vm.Value)
	}
}

// Revert reverts the VM to the snapshot of an object. It returns an error if the snapshot does not
// contain the record of that object, because the object's state at that time is then unknown.
func (a *Actor) Revert(ctx context.Context, vm *mo.VirtualMachine, to provider.RevertTarget) error {
	found := observe.FindSnapshot(vm, to.UID, to.UniqueID)
	if found == nil {
		return fmt.Errorf("the vSphere VM %s no longer has snapshot %q (%s)", vm.Self.Value, to.Name, to.UniqueID)
	}
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	var snapshot mo.VirtualMachineSnapshot
	if err := property.DefaultCollector(c).RetrieveOne(ctx, snapshotRef(found), []string{"config.extraConfig"}, &snapshot); err != nil {
		return fmt.Errorf("reading snapshot %s of %s: %w", found.UniqueID, vm.Self.Value, err)
	}
	record := observe.SnapshotRecordOf(snapshot.Config.ExtraConfig)
	if record == nil || record.UID != to.UID {
		return fmt.Errorf("snapshot %q (%s) of %s does not contain an object record, which a revert requires", to.Name, found.UniqueID, vm.Self.Value)
	}
	if to.Admit != nil {
		if err := to.Admit(ctx, record.Record); err != nil {
			return err
		}
	}
	_, err = a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.RevertToSnapshot_Task(ctx, c, &types.RevertToSnapshot_Task{This: snapshotRef(found)})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return a.refreshAfter(ctx, vm.Self, fmt.Errorf("reverting %s to snapshot %s: %w", vm.Self.Value, found.UniqueID, err))
	}
	// A revert changes the power state, the configuration and the current snapshot.
	_, err = a.Inventory.Refresh(ctx, vm.Self)
	return err
}
