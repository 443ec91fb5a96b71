// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// volumeClient returns a client of the volume service in the session of c.
func volumeClient(ctx context.Context, t *testing.T, c *govmomi.Client) *cns.Client {
	t.Helper()
	v, err := cns.NewClient(ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// newVolume creates a volume as the vSphere CSI driver does, and returns its ID.
func newVolume(ctx context.Context, t *testing.T, v *cns.Client, ds types.ManagedObjectReference, mib int64) string {
	t.Helper()
	task, err := v.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
		Name: "pvc-1", VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{ds},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: mib}},
	}})
	result, fault := volumeResult(ctx, t, task, err)
	if fault != nil {
		t.Fatalf("create a volume: %T", fault)
	}
	return result.GetCnsVolumeOperationResult().VolumeId.Id
}

// volumeResult waits for a task of one volume.
func volumeResult(ctx context.Context, t *testing.T, task *object.Task, err error) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	info, err := cns.GetTaskInfo(ctx, task)
	if err != nil {
		t.Fatalf("the task failed, and not only the volume: %v", err)
	}
	result, err := cns.GetTaskResult(ctx, info)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.GetCnsVolumeOperationResult().Fault; f != nil {
		return result, f.Fault
	}
	return result, nil
}

func attachVolume(ctx context.Context, t *testing.T, v *cns.Client, spec cnstypes.CnsVolumeAttachDetachSpec) (string, types.BaseMethodFault) {
	t.Helper()
	task, err := v.AttachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{spec})
	result, fault := volumeResult(ctx, t, task, err)
	if r, ok := result.(*cnstypes.CnsVolumeAttachResult); ok {
		return r.DiskUUID, fault
	}
	return "", fault
}

func detachVolume(ctx context.Context, t *testing.T, v *cns.Client, spec cnstypes.CnsVolumeAttachDetachSpec) types.BaseMethodFault {
	t.Helper()
	task, err := v.DetachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{spec})
	_, fault := volumeResult(ctx, t, task, err)
	return fault
}

// volumeDisk returns the disk of vm that is the volume, or nil if there is none.
func volumeDisk(ctx context.Context, t *testing.T, c *govmomi.Client, vm *object.VirtualMachine, id string) *types.VirtualDisk {
	t.Helper()
	for _, d := range read(ctx, t, c, vm).Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
			return disk
		}
	}
	return nil
}

func TestVolume_IsAttachedToOneVM(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	v := volumeClient(ctx, t, c)
	one, other := create(ctx, t, c, p, machine("one")), create(ctx, t, c, p, machine("other"))
	id := newVolume(ctx, t, v, read(ctx, t, c, one).Datastore[0], 10)
	spec := func(vm *object.VirtualMachine) cnstypes.CnsVolumeAttachDetachSpec {
		return cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm.Reference()}
	}

	uuid, fault := attachVolume(ctx, t, v, spec(one))
	if fault != nil {
		t.Fatalf("attach: %T", fault)
	}
	disk := volumeDisk(ctx, t, c, one, id)
	if disk == nil || disk.CapacityInBytes != 10<<20 {
		t.Fatalf("the disk after the attachment: %+v", disk)
	}
	if got := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid; got != uuid || uuid == "" {
		t.Errorf("the disk has UUID %q, and the service returned %q", got, uuid)
	}
	for _, vm := range []*object.VirtualMachine{one, other} {
		if _, fault := attachVolume(ctx, t, v, spec(vm)); !is[*types.ResourceInUse](fault) {
			t.Errorf("attaching the volume of %s to %s: %T, want ResourceInUse", one.Reference(), vm.Reference(), fault)
		}
	}
	task, err := v.ExtendVolume(ctx, []cnstypes.CnsVolumeExtendSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, CapacityInMb: 20}})
	if _, fault := volumeResult(ctx, t, task, err); fault != nil {
		t.Fatalf("extend: %T", fault)
	}
	if got := volumeDisk(ctx, t, c, one, id).CapacityInBytes; got != 20<<20 {
		t.Errorf("after the extension the disk has %d bytes", got)
	}
	if fault := detachVolume(ctx, t, v, spec(one)); fault != nil {
		t.Fatalf("detach: %T", fault)
	}
	if fault := detachVolume(ctx, t, v, spec(one)); !is[*types.NotFound](fault) {
		t.Errorf("detach twice: %T, want NotFound", fault)
	}
	again, fault := attachVolume(ctx, t, v, spec(other))
	if fault != nil || again != uuid {
		t.Errorf("attach to the other: UUID %q, %T; want %q", again, fault, uuid)
	}
}

func is[F types.BaseMethodFault](f types.BaseMethodFault) bool {
	_, ok := f.(F)
	return ok
}

func TestVolume_AttachAcceptsADiskPositionFromVersion91(t *testing.T) {
	for version, takes := range map[string]bool{"8.0.3.0": false, "9.0.0.0": false, "9.1.0.0": true} {
		t.Run(version, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{APIVersion: version})
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			v := volumeClient(ctx, t, c)
			vm := create(ctx, t, c, p, machine("one"))
			config := read(ctx, t, c, vm)
			id := newVolume(ctx, t, v, config.Datastore[0], 10)
			controller, err := object.VirtualDeviceList(config.Config.Hardware.Device).FindDiskController("")
			if err != nil {
				t.Fatal(err)
			}
			key, unit := controller.GetVirtualController().Key, int32(9)
			task, err := v.AttachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{{
				VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm.Reference(), ControllerKey: &key, UnitNumber: &unit,
				DiskMode: string(types.VirtualDiskModeIndependent_persistent), Sharing: string(types.VirtualDiskSharingSharingMultiWriter),
			}})
			if !takes {
				if err == nil {
					t.Error("a place was taken")
				}
				return
			}
			if _, fault := volumeResult(ctx, t, task, err); fault != nil {
				t.Fatalf("attach: %T", fault)
			}
			disk := volumeDisk(ctx, t, c, vm, id)
			if disk.ControllerKey != key || *disk.UnitNumber != unit {
				t.Errorf("the disk is at %d:%d, want %d:%d", disk.ControllerKey, *disk.UnitNumber, key, unit)
			}
			b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if b.Sharing != string(types.VirtualDiskSharingSharingMultiWriter) || b.DiskMode != string(types.VirtualDiskModeIndependent_persistent) {
				t.Errorf("the disk has sharing %q and mode %q", b.Sharing, b.DiskMode)
			}
		})
	}
}
