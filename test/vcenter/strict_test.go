// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"
)

func ref(kind, value string) *types.ManagedObjectReference {
	return &types.ManagedObjectReference{Type: kind, Value: value}
}

// faultOf runs a call that starts a task, and returns the error of either.
func faultOf(ctx context.Context, task *object.Task, err error) error {
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

func TestServer_AnswersInvalidReferencesAndValuesWithFaults(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("good"))

	created := func(edit func(*types.VirtualMachineConfigSpec)) func() error {
		spec := machine("bad")
		edit(&spec)
		return func() error {
			task, err := p.folder.CreateVM(ctx, spec, p.pool, nil)
			return faultOf(ctx, task, err)
		}
	}
	cloned := func(at types.VirtualMachineRelocateSpec) func() error {
		return func() error {
			task, err := p.template.Clone(ctx, p.folder, "bad", types.VirtualMachineCloneSpec{Location: at})
			return faultOf(ctx, task, err)
		}
	}
	moved := func(to types.VirtualMachineRelocateSpec) func() error {
		return func() error {
			task, err := vm.Relocate(ctx, to, types.VirtualMachineMovePriorityDefaultPriority)
			return faultOf(ctx, task, err)
		}
	}
	pool := p.pool.Reference()
	notFound := &types.ManagedObjectNotFound{}
	for name, test := range map[string]struct {
		do   func() error
		want types.BaseMethodFault
	}{
		"create on an unknown datastore": {created(func(s *types.VirtualMachineConfigSpec) { s.Files.VmPathName = "[nowhere]" }), &types.InvalidDatastorePath{}},
		"create with an unknown network": {created(func(s *types.VirtualMachineConfigSpec) {
			s.DeviceChange[2].GetVirtualDeviceConfigSpec().Device.GetVirtualDevice().Backing.(*types.VirtualEthernetCardNetworkBackingInfo).DeviceName = "nowhere"
		}), &types.InvalidDeviceBacking{}},
		"create with a name in use":       {created(func(s *types.VirtualMachineConfigSpec) { s.Name = "good" }), &types.DuplicateName{}},
		"create with an absurd memory":    {created(func(s *types.VirtualMachineConfigSpec) { s.MemoryMB = 1 << 40 }), &types.InvalidArgument{}},
		"create with negative CPUs":       {created(func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = -1 }), &types.InvalidArgument{}},
		"create with an unknown guest":    {created(func(s *types.VirtualMachineConfigSpec) { s.GuestId = "amigaGuest" }), &types.InvalidArgument{}},
		"create with a slash in the name": {created(func(s *types.VirtualMachineConfigSpec) { s.Name = "a/b" }), &types.InvalidName{}},
		"create with a command to the simulator": {created(func(s *types.VirtualMachineConfigSpec) {
			s.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "SET.no.such", Value: 1}}
		}), &types.InvalidArgument{}},
		"create in an unknown pool": {func() error {
			task, err := p.folder.CreateVM(ctx, machine("bad"), object.NewResourcePool(c.Client, *ref("ResourcePool", "resgroup-999")), nil)
			return faultOf(ctx, task, err)
		}, notFound},
		"create on an unknown host": {func() error {
			task, err := p.folder.CreateVM(ctx, machine("bad"), p.pool, object.NewHostSystem(c.Client, *ref("HostSystem", "host-999")))
			return faultOf(ctx, task, err)
		}, notFound},
		"create in a folder as pool": {func() error {
			task, err := p.folder.CreateVM(ctx, machine("bad"), object.NewResourcePool(c.Client, p.folder.Reference()), nil)
			return faultOf(ctx, task, err)
		}, &types.InvalidArgument{}},
		"clone to an unknown pool":         {cloned(types.VirtualMachineRelocateSpec{Pool: ref("ResourcePool", "resgroup-999")}), notFound},
		"clone to an unknown datastore":    {cloned(types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: ref("Datastore", "datastore-999")}), notFound},
		"clone to an unknown host":         {cloned(types.VirtualMachineRelocateSpec{Pool: &pool, Host: ref("HostSystem", "host-999")}), notFound},
		"clone of a template without pool": {cloned(types.VirtualMachineRelocateSpec{}), &types.InvalidArgument{}},
		"relocate to an unknown host":      {moved(types.VirtualMachineRelocateSpec{Host: ref("HostSystem", "host-999")}), notFound},
		"relocate to an unknown datastore": {moved(types.VirtualMachineRelocateSpec{Datastore: ref("Datastore", "datastore-999")}), notFound},
		"relocate to a host as datastore":  {moved(types.VirtualMachineRelocateSpec{Datastore: &pool}), &types.InvalidArgument{}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.do(); !fault.Is(err, test.want) {
				t.Errorf("got %v, want %T", err, test.want)
			}
		})
	}
	create(ctx, t, c, p, machine("after-all"))
}

func TestSoftPowerOperations_RequireTools(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{GuestBootDelay: 10 * testTimeout}))
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("unbooted"))
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	for name, do := range map[string]func(context.Context) error{
		"shutdown": vm.ShutdownGuest, "reboot": vm.RebootGuest, "standby": vm.StandbyGuest,
	} {
		if err := do(ctx); !fault.Is(err, &types.ToolsUnavailable{}) {
			t.Errorf("%s: got %v, want ToolsUnavailable", name, err)
		}
	}
}

func TestReconfigure_RespectsHotAddFlagsAndIsAtomic(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	hot := machine("hot")
	hot.CpuHotAddEnabled, hot.MemoryHotAddEnabled = types.NewBool(true), types.NewBool(true)
	machines := map[string]*object.VirtualMachine{
		"cold": create(ctx, t, c, p, machine("cold")),
		"hot":  create(ctx, t, c, p, hot),
	}
	for _, vm := range machines {
		task, err := vm.PowerOn(ctx)
		wait(ctx, t, task, err)
	}
	for name, test := range map[string]struct {
		machine string
		spec    types.VirtualMachineConfigSpec
		want    types.BaseMethodFault
	}{
		"CPUs without hot-add":   {"cold", types.VirtualMachineConfigSpec{NumCPUs: 2}, &types.CpuHotPlugNotSupported{}},
		"memory without hot-add": {"cold", types.VirtualMachineConfigSpec{MemoryMB: 4096}, &types.MemoryHotPlugNotSupported{}},
		"removal of memory":      {"hot", types.VirtualMachineConfigSpec{MemoryMB: 1024}, &types.MemoryHotPlugNotSupported{}},
		"firmware when on":       {"hot", types.VirtualMachineConfigSpec{Firmware: "bios"}, &types.InvalidPowerState{}},
		"hot-add flag when on":   {"cold", types.VirtualMachineConfigSpec{CpuHotAddEnabled: types.NewBool(true)}, &types.InvalidPowerState{}},
		"old change version":     {"hot", types.VirtualMachineConfigSpec{ChangeVersion: "1", NumCPUs: 4}, &types.ConcurrentAccess{}},
		"bad UUID":               {"hot", types.VirtualMachineConfigSpec{InstanceUuid: "x"}, &types.InvalidArgument{}},
		"name in use":            {"hot", types.VirtualMachineConfigSpec{Name: "cold"}, &types.DuplicateName{}},
		"an unknown device": {"hot", types.VirtualMachineConfigSpec{NumCPUs: 4, DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: 7777}},
		}}}, &types.InvalidDeviceSpec{}},
		"a taken unit number, after a change of CPUs": {"hot", types.VirtualMachineConfigSpec{NumCPUs: 4, DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation:     types.VirtualDeviceConfigSpecOperationAdd,
			FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Device: &types.VirtualDisk{CapacityInKB: 1024, VirtualDevice: types.VirtualDevice{
				Backing: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[LocalDS_0]"}},
			}},
		}}}, &types.InvalidDeviceSpec{}},
	} {
		t.Run(name, func(t *testing.T) {
			vm := machines[test.machine]
			before := read(ctx, t, c, vm)
			task, err := vm.Reconfigure(ctx, test.spec)
			if err := faultOf(ctx, task, err); !fault.Is(err, test.want) {
				t.Errorf("got %v, want %T", err, test.want)
			}
			after := read(ctx, t, c, vm)
			if after.Config.Hardware.NumCPU != before.Config.Hardware.NumCPU || after.Name != before.Name ||
				len(after.Config.Hardware.Device) != len(before.Config.Hardware.Device) {
				t.Errorf("a refused reconfiguration left %d CPUs, name %q, %d devices", after.Config.Hardware.NumCPU, after.Name, len(after.Config.Hardware.Device))
			}
		})
	}
	task, err := machines["hot"].Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2, MemoryMB: 4096, InstanceUuid: uuid.NewString()})
	wait(ctx, t, task, err)
	if got := read(ctx, t, c, machines["hot"]).Config.Hardware; got.NumCPU != 2 || got.MemoryMB != 4096 {
		t.Errorf("hot-add gave %d CPUs and %d MB", got.NumCPU, got.MemoryMB)
	}
}

func TestFolder_IsDestroyedWithItsVMs(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	sub, err := p.folder.CreateFolder(ctx, "namespace-b")
	if err != nil {
		t.Fatal(err)
	}
	p.folder = sub
	vm := create(ctx, t, c, p, machine("inside"))
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	task, err = sub.Destroy(ctx)
	if err := faultOf(ctx, task, err); !fault.Is(err, &types.InvalidPowerState{}) {
		t.Fatalf("destroy with a running machine: got %v, want InvalidPowerState", err)
	}
	task, err = vm.PowerOff(ctx)
	wait(ctx, t, task, err)
	task, err = sub.Destroy(ctx)
	wait(ctx, t, task, err)
	for _, o := range []object.Reference{vm, sub} {
		var content []types.ObjectContent
		err := property.DefaultCollector(c.Client).RetrieveOne(ctx, o.Reference(), []string{"name"}, &content)
		if !fault.Is(err, &types.ManagedObjectNotFound{}) {
			t.Errorf("reading %s: got %v, want ManagedObjectNotFound", o.Reference(), err)
		}
	}
}
