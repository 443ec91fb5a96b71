// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/cns"
	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// DiskSlot is the position of a disk: a controller and a unit number.
type DiskSlot struct {
	// ControllerKey is the key of the controller, Unit the unit number on the controller.
	ControllerKey, Unit int32
	// Shared allows several VMs to write to the disk.
	Shared bool
}

// AttachVolume attaches a first class disk in slot. If slot is nil, vCenter chooses one. The
// VM's devices determine whether the disk is attached: responses may be lost, and vCenter versions
// differ in the fault for a disk that is already attached.
func (a *Actor) AttachVolume(ctx context.Context, vm types.ManagedObjectReference, id string, slot *DiskSlot) error {
	attached, err := a.hasVolume(ctx, vm, id)
	if err != nil || attached {
		return err
	}
	spec := cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm}
	if slot != nil {
		spec.ControllerKey, spec.UnitNumber = &slot.ControllerKey, &slot.Unit
		if slot.Shared {
			spec.DiskMode, spec.Sharing = string(types.VirtualDiskModeIndependent_persistent), string(types.VirtualDiskSharingSharingMultiWriter)
		}
		if err := a.checkNotAttached(ctx, vm, id, slot.Shared); err != nil {
			return err
		}
	}
	err = a.volumeTask(ctx, func(service soap.RoundTripper) (types.ManagedObjectReference, error) {
		res, err := cnsmethods.CnsAttachVolume(ctx, service, &cnstypes.CnsAttachVolume{
			This: cns.CnsVolumeManagerInstance, AttachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{spec}})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		if attached, rerr := a.hasVolume(ctx, vm, id); rerr != nil || !attached {
			if vimfault.IsInUse(err) {
				err = &vimfault.InUseError{Disk: id}
			}
			return a.refreshAfter(ctx, vm, fmt.Errorf("attaching first class disk %s to %s: %w", id, vm.Value, err))
		}
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm == nil || observe.FirstClass(vm)[id] != nil })
}

// checkNotAttached returns an error if the disk is attached to another VM. vCenter versions that allow several
// VMs to attach a disk do not check this, and the second VM cannot be powered on
// (kubernetes-sigs/vsphere-csi-driver#3783).
func (a *Actor) checkNotAttached(ctx context.Context, vm types.ManagedObjectReference, id string, shared bool) error {
	if shared {
		return nil
	}
	var object *types.VStorageObject
	results, err := a.volumeResults(ctx, func(service soap.RoundTripper) (types.ManagedObjectReference, error) {
		res, err := cnsmethods.CnsQueryVolumeInfo(ctx, service, &cnstypes.CnsQueryVolumeInfo{
			This: cns.CnsVolumeManagerInstance, VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return fmt.Errorf("querying the user of first class disk %s: %w", id, err)
	}
	for _, r := range results {
		info, ok := r.(*cnstypes.CnsQueryVolumeInfoResult)
		if !ok {
			continue
		}
		if block, ok := info.VolumeInfo.(*cnstypes.CnsBlockVolumeInfo); ok {
			object = &block.VStorageObject
		}
	}
	if object == nil || len(object.Config.ConsumerId) == 0 {
		return nil // If the disk does not exist, CnsAttachVolume returns an error.
	}
	return fmt.Errorf("attaching first class disk %s to %s: %w", id, vm.Value, &vimfault.InUseError{Disk: id, By: object.Config.ConsumerId[0].Id})
}

// DetachVolume detaches a first class disk without changing the disk. It succeeds if the disk is
// not attached.
func (a *Actor) DetachVolume(ctx context.Context, vm types.ManagedObjectReference, id string) error {
	err := a.volumeTask(ctx, func(service soap.RoundTripper) (types.ManagedObjectReference, error) {
		res, err := cnsmethods.CnsDetachVolume(ctx, service, &cnstypes.CnsDetachVolume{
			This:        cns.CnsVolumeManagerInstance,
			DetachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm}}})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		if attached, rerr := a.hasVolume(ctx, vm, id); rerr != nil || attached {
			return a.refreshAfter(ctx, vm, fmt.Errorf("detaching first class disk %s from %s: %w", id, vm.Value, errors.Join(err, rerr)))
		}
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm == nil || observe.FirstClass(vm)[id] == nil })
}

// ExtendVolume extends a first class disk to a capacity in MiB.
func (a *Actor) ExtendVolume(ctx context.Context, vm types.ManagedObjectReference, id string, mib int64) error {
	err := a.volumeTask(ctx, func(service soap.RoundTripper) (types.ManagedObjectReference, error) {
		res, err := cnsmethods.CnsExtendVolume(ctx, service, &cnstypes.CnsExtendVolume{
			This: cns.CnsVolumeManagerInstance, ExtendSpecs: []cnstypes.CnsVolumeExtendSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, CapacityInMb: mib}}})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("extending first class disk %s of %s to %d MiB: %w", id, vm.Value, mib, err))
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool {
		disk := observe.FirstClass(vm)[id]
		return disk == nil || observe.Capacity(disk) >= mib<<20
	})
}

// hasVolume reads from vSphere, not from the inventory, whether the disk is attached to the VM. It
// returns false if the VM does not exist.
func (a *Actor) hasVolume(ctx context.Context, ref types.ManagedObjectReference, id string) (bool, error) {
	vm, err := a.readDisks(ctx, ref)
	if err != nil || vm == nil {
		return false, err
	}
	if vm.Config == nil {
		return false, errors.New("the configuration of " + ref.Value + " cannot be read, so its disks are unknown")
	}
	return observe.FirstClass(vm)[id] != nil, nil
}

// volumeTask starts a task of the volume service for one disk and waits for its end.
func (a *Actor) volumeTask(ctx context.Context, start func(soap.RoundTripper) (types.ManagedObjectReference, error)) error {
	_, err := a.volumeResults(ctx, start)
	return err
}

// volumeResults is like volumeTask and also returns the result for each disk. A task can succeed
// although disks have failed; the first failure is returned as the error.
func (a *Actor) volumeResults(ctx context.Context, start func(soap.RoundTripper) (types.ManagedObjectReference, error)) ([]cnstypes.BaseCnsVolumeOperationResult, error) {
	clients, err := a.Session.VolumeClients(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := start(clients.Service)
	if err != nil {
		return nil, err
	}
	info, err := object.NewTask(clients.Tasks, ref).WaitForResult(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok {
		return nil, fmt.Errorf("unexpected result of the volume service: %T", info.Result)
	}
	failed := slices.IndexFunc(batch.VolumeResults, func(r cnstypes.BaseCnsVolumeOperationResult) bool {
		return r.GetCnsVolumeOperationResult().Fault != nil
	})
	if failed >= 0 {
		return batch.VolumeResults, &vimfault.TaskError{Fault: batch.VolumeResults[failed].GetCnsVolumeOperationResult().Fault}
	}
	return batch.VolumeResults, nil
}
