// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"slices"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func diskFiles(ctx context.Context, t *testing.T, c *govmomi.Client, vm *object.VirtualMachine) []string {
	t.Helper()
	var files []string
	for _, d := range object.VirtualDeviceList(read(ctx, t, c, vm).Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		files = append(files, d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo).GetVirtualDeviceFileBackingInfo().FileName)
	}
	return files
}

// attach adds an existing disk to a virtual machine, as a backup proxy does.
func attach(ctx context.Context, t *testing.T, vm *object.VirtualMachine, file string, sharing types.VirtualDiskSharing) error {
	t.Helper()
	devices, err := vm.Device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	controller, err := devices.FindDiskController("")
	if err != nil {
		t.Fatal(err)
	}
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, file)
	backing := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	backing.Datastore, backing.Sharing = nil, string(sharing)
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk},
	}})
	return faultOf(ctx, task, err)
}

// shares makes every disk of a VM a multi-writer disk.
func shares(spec types.VirtualMachineConfigSpec) types.VirtualMachineConfigSpec {
	for _, c := range spec.DeviceChange {
		if disk, ok := c.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk); ok {
			disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Sharing = string(types.VirtualDiskSharingSharingMultiWriter)
		}
	}
	return spec
}

func has(t *testing.T, s *Server, file string) bool {
	t.Helper()
	files, err := s.Events().Files()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(files, file)
}

func TestDestroy_DeletesDisksOfOtherVMs(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	proxy, db := create(ctx, t, c, p, machine("proxy")), create(ctx, t, c, p, machine("db"))
	task, err := proxy.PowerOn(ctx)
	wait(ctx, t, task, err)
	file := diskFiles(ctx, t, c, db)[0]
	if err := attach(ctx, t, proxy, file, ""); err != nil {
		t.Fatalf("hot-add of the disk of a machine that is off: %v", err)
	}
	if got := diskFiles(ctx, t, c, proxy); !slices.Contains(got, file) {
		t.Errorf("the proxy has the disks %q", got)
	}
	task, err = proxy.PowerOff(ctx)
	wait(ctx, t, task, err)
	if !has(t, s, file) {
		t.Fatalf("%s does not exist", file)
	}
	task, err = proxy.Destroy(ctx)
	wait(ctx, t, task, err)
	if has(t, s, file) {
		t.Errorf("%s has survived the destroy of a machine that it was attached to", file)
	}
}

func TestDisk_IsLockedByOneRunningVMUnlessShared(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	proxy := create(ctx, t, c, p, machine("proxy"))
	alone, shared := create(ctx, t, c, p, machine("alone")), create(ctx, t, c, p, shares(machine("shared")))
	for _, vm := range []*object.VirtualMachine{proxy, alone, shared} {
		task, err := vm.PowerOn(ctx)
		wait(ctx, t, task, err)
	}
	file := diskFiles(ctx, t, c, alone)[0]
	if err := attach(ctx, t, proxy, file, ""); !fault.Is(err, &types.FileLocked{}) {
		t.Errorf("hot-add of a disk that is in use: got %v, want FileLocked", err)
	}
	if err := attach(ctx, t, proxy, diskFiles(ctx, t, c, shared)[0], types.VirtualDiskSharingSharingMultiWriter); err != nil {
		t.Errorf("hot-add of a disk that both share: %v", err)
	}
	task, err := proxy.PowerOff(ctx)
	wait(ctx, t, task, err)
	if err := attach(ctx, t, proxy, file, ""); err != nil {
		t.Fatalf("attached to a machine that is off: %v", err)
	}
	task, err = proxy.PowerOn(ctx)
	if err := faultOf(ctx, task, err); !fault.Is(err, &types.FileLocked{}) {
		t.Errorf("power-on with a disk that is in use: got %v, want FileLocked", err)
	}
}

func TestDestroy_KeepsFirstClassDisksMarkedForIt(t *testing.T) {
	for name, test := range map[string]struct {
		keep  *bool
		stays bool
	}{
		"kept":            {types.NewBool(true), true},
		"kept by default": {nil, true},
		"not kept":        {types.NewBool(false), false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{})
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			vm := create(ctx, t, c, p, machine("db"))
			ds := read(ctx, t, c, vm).Datastore[0]
			res, err := methods.CreateDisk_Task(ctx, c, &types.CreateDisk_Task{This: *c.ServiceContent.VStorageObjectManager, Spec: types.VslmCreateSpec{
				Name: "data", CapacityInMB: 10, KeepAfterDeleteVm: test.keep,
				BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			info, err := object.NewTask(c.Client, res.Returnval).WaitForResult(ctx)
			if err != nil {
				t.Fatal(err)
			}
			id := info.Result.(types.VStorageObject).Config.Id
			if err := vm.AttachDisk(ctx, id.Id, object.NewDatastore(c.Client, ds), 0, nil); err != nil {
				t.Fatal(err)
			}
			files := diskFiles(ctx, t, c, vm)
			if len(files) != 2 {
				t.Fatalf("after the attachment it has the disks %q", files)
			}
			task, err := vm.Destroy(ctx)
			wait(ctx, t, task, err)
			if has(t, s, files[0]) {
				t.Errorf("its own disk %s is still there", files[0])
			}
			if got := has(t, s, files[1]); got != test.stays {
				t.Errorf("the first class disk %s is there: %t, want %t", files[1], got, test.stays)
			}
			_, err = methods.RetrieveVStorageObject(ctx, c, &types.RetrieveVStorageObject{This: *c.ServiceContent.VStorageObjectManager, Id: id, Datastore: ds})
			if (err == nil) != test.stays {
				t.Errorf("retrieve the first class disk: %v", err)
			}
		})
	}
}

func TestReconfigure_RefusesUnitsThatAControllerLacks(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	scsi := func(busNumber int32) types.VirtualSCSIController {
		out := types.VirtualSCSIController{SharedBus: types.VirtualSCSISharingNoSharing}
		out.Key, out.BusNumber = -200, busNumber
		return out
	}
	for _, version := range []string{"vmx-13", "vmx-14"} {
		spec := machine("units-" + version)
		spec.Version = version
		vm := create(ctx, t, c, p, spec)
		for n, test := range []struct {
			controller types.BaseVirtualDevice
			unit       int32
			want       map[string]bool
		}{
			{&types.ParaVirtualSCSIController{VirtualSCSIController: scsi(1)}, 64, map[string]bool{"vmx-14": true}},
			{&types.ParaVirtualSCSIController{VirtualSCSIController: scsi(1)}, 65, nil},
			{&types.ParaVirtualSCSIController{VirtualSCSIController: scsi(1)}, 7, nil},
			{&types.VirtualLsiLogicSASController{VirtualSCSIController: scsi(2)}, 16, nil},
			{&types.VirtualLsiLogicSASController{VirtualSCSIController: scsi(2)}, 15, map[string]bool{"vmx-13": true, "vmx-14": true}},
		} {
			unit := test.unit
			disk := &types.VirtualDisk{CapacityInKB: 1024, CapacityInBytes: 1 << 20}
			disk.Key, disk.ControllerKey, disk.UnitNumber = -1000, -200, &unit
			disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
			task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: test.controller},
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk},
			}})
			if err := faultOf(ctx, task, err); (err == nil) != test.want[version] || err != nil && !fault.Is(err, &types.InvalidDeviceSpec{}) {
				t.Errorf("%s, case %d, %T, unit %d: %v; want it added: %v", version, n, test.controller, unit, err, test.want[version])
			}
		}
	}
}
