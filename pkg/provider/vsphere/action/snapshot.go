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

// maxSnapshotName bounds the name of a snapshot in vSphere, as that of everything else in its
// inventory, in characters.
const maxSnapshotName = 80

// Snapshot takes a snapshot that carries the record of the object, and leaves the VM without
// it. A snapshot that is there already is not taken again.
func (a *Actor) Snapshot(ctx context.Context, vm *mo.VirtualMachine, s *provider.Snapshot) error {
	if observe.FindSnapshot(vm, s.UID, s.UniqueID) == nil {
		if err := a.keep(ctx, vm.Self, string(s.UID)+"/"+s.Record); err != nil {
			return fmt.Errorf("keeping the record of the object: %w", err)
		}
		if err := a.takeSnapshot(ctx, vm.Self, s); err != nil {
			return a.after(ctx, vm.Self, fmt.Errorf("taking a snapshot of %s: %w", vm.Self.Value, err))
		}
	}
	if err := a.DropKept(ctx, vm.Self); err != nil {
		return fmt.Errorf("the snapshot was taken; %w", err)
	}
	return nil
}

func (a *Actor) takeSnapshot(ctx context.Context, vm types.ManagedObjectReference, s *provider.Snapshot) error {
	req := types.CreateSnapshotEx_Task{
		This: vm, Name: s.Name[:min(len(s.Name), maxSnapshotName)], Memory: s.Memory, Description: observe.DescribeSnapshot(s.Description, s.Name, s.UID),
	}
	if s.Quiesce {
		// vSphere counts in minutes; 0 is its default.
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

// keep sets the record that the next snapshot carries; empty removes it.
func (a *Actor) keep(ctx context.Context, vm types.ManagedObjectReference, value string) error {
	return a.Reconfigure(ctx, vm, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.SnapshotRecordKey, Value: value}},
	})
}

// DropKept removes the record of a snapshot from the VM, and leaves that of the snapshot.
func (a *Actor) DropKept(ctx context.Context, vm types.ManagedObjectReference) error {
	if err := a.keep(ctx, vm, ""); err != nil {
		return fmt.Errorf("removing the record of a snapshot: %w", err)
	}
	return nil
}

// RemoveSnapshots removes the snapshots of an object, which are several if a request arrived
// late, and leaves those that follow them. That the VM has no record any more comes first: while
// vSphere still takes a snapshot that an earlier process has asked for, it refuses that.
func (a *Actor) RemoveSnapshots(ctx context.Context, vm types.ManagedObjectReference, uid ktypes.UID, id string) error {
	if err := a.DropKept(ctx, vm); err != nil {
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
			return fmt.Errorf("vSphere shows snapshot %s of %s after it was removed", found.UniqueID, vm.Value)
		}
		removed = ref
		if err := a.removeSnapshot(ctx, ref); err != nil {
			return a.after(ctx, vm, fmt.Errorf("removing snapshot %s of %s: %w", found.UniqueID, vm.Value, err))
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
	if vimfault.Gone(err, snapshot) {
		return nil
	}
	return err
}

// consolidate tries once to do what the removal of a snapshot has left undone. A condition
// says what is still to be done.
func (a *Actor) consolidate(ctx context.Context, vm types.ManagedObjectReference) {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.ConsolidateVMDisks_Task(ctx, c, &types.ConsolidateVMDisks_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "The disks were not consolidated after a snapshot was removed", "vm", vm.Value)
	}
}

// Revert makes the VM what it was at the snapshot of an object. One that carries no record of
// that object is not reverted to: nobody could tell then what the object was.
func (a *Actor) Revert(ctx context.Context, vm *mo.VirtualMachine, to provider.RevertTarget) error {
	found := observe.FindSnapshot(vm, to.UID, to.UniqueID)
	if found == nil {
		return fmt.Errorf("the vSphere VM %s has no snapshot %q (%s) any more", vm.Self.Value, to.Name, to.UniqueID)
	}
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	var snapshot mo.VirtualMachineSnapshot
	if err := property.DefaultCollector(c).RetrieveOne(ctx, snapshotRef(found), []string{"config.extraConfig"}, &snapshot); err != nil {
		return fmt.Errorf("reading snapshot %s of %s: %w", found.UniqueID, vm.Self.Value, err)
	}
	kept := observe.KeptOf(snapshot.Config.ExtraConfig)
	if kept == nil || kept.UID != to.UID {
		return fmt.Errorf("snapshot %q (%s) of %s carries no record of its object, which a revert would need", to.Name, found.UniqueID, vm.Self.Value)
	}
	if to.Admit != nil {
		if err := to.Admit(ctx, kept.Record); err != nil {
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
		return a.after(ctx, vm.Self, fmt.Errorf("reverting %s to snapshot %s: %w", vm.Self.Value, found.UniqueID, err))
	}
	// Power state, configuration and the snapshot that it runs on change together.
	_, err = a.Inventory.Refresh(ctx, vm.Self)
	return err
}
