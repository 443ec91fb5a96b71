// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func TestCreateVM_NeedsAHostInAClusterWithoutDRS(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{Clusters: 2}))
	p := findPlaces(ctx, t, c)
	f := find.NewFinder(c.Client)
	pool, err := f.ResourcePool(ctx, "/DC0/host/DC0_C1/Resources")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := f.HostSystemList(ctx, "/DC0/host/DC0_C1/*")
	if err != nil {
		t.Fatal(err)
	}
	others, err := f.HostSystemList(ctx, "/DC0/host/DC0_C0/*")
	if err != nil {
		t.Fatal(err)
	}
	task, err := hosts[1].EnterMaintenanceMode(ctx, 0, false, nil)
	wait(ctx, t, task, err)
	task, err = hosts[2].Disconnect(ctx)
	wait(ctx, t, task, err)
	created := func(name string, host *object.HostSystem) error {
		spec := machine(name)
		spec.Files.VmPathName = "[DC0_C1_DS]"
		for _, d := range spec.DeviceChange {
			if b, ok := d.GetVirtualDeviceConfigSpec().Device.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				b.GetVirtualDeviceFileBackingInfo().FileName = "[DC0_C1_DS]"
			}
		}
		task, err := p.folder.CreateVM(ctx, spec, pool, host)
		return faultOf(ctx, task, err)
	}
	for name, test := range map[string]struct {
		host *object.HostSystem
		want types.BaseMethodFault
	}{
		"without a host": {nil, &types.InvalidArgument{}}, "a host of another cluster": {others[0], &types.InvalidArgument{}},
		"a host in maintenance mode": {hosts[1], &types.InvalidState{}}, "a disconnected host": {hosts[2], &types.HostNotConnected{}},
	} {
		if err := created("bad", test.host); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, want %T", name, err, test.want)
		}
	}
	if err := created("good", hosts[0]); err != nil {
		t.Errorf("on a host that can have it: %v", err)
	}
	at := pool.Reference()
	ds, err := f.Datastore(ctx, "/DC0/datastore/DC0_C1_DS")
	if err != nil {
		t.Fatal(err)
	}
	store := ds.Reference()
	task, err = p.template.Clone(ctx, p.folder, "clone", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &at, Datastore: &store}})
	if err := faultOf(ctx, task, err); err != nil {
		t.Errorf("a clone, for which vCenter chooses a compatible host: %v", err)
	}
}

func TestReconfigure_RefusesADiskOnADatastoreThatTheHostLacks(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{Clusters: 2}))
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("far"))
	if err := attach(ctx, t, vm, "[DC0_C1_DS] far/far.vmdk", ""); !fault.Is(err, &types.InaccessibleDatastore{}) {
		t.Errorf("got %v, want InaccessibleDatastore", err)
	}
	create(ctx, t, c, p, machine("after-all"))
}

func TestDiskUUID_StaysWithTheFile(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	vm, proxy := create(ctx, t, c, p, machine("vm")), create(ctx, t, c, p, machine("proxy"))
	uuids := func(vm *object.VirtualMachine) (all []string) {
		for _, d := range object.VirtualDeviceList(read(ctx, t, c, vm).Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
			all = append(all, d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid)
		}
		return all
	}
	before := uuids(vm)
	if slices.Equal(before, uuids(proxy)) || before[0] == "" {
		t.Fatalf("the disks of two virtual machines have the UUID %v", before)
	}
	ds, err := find.NewFinder(c.Client).Datastore(ctx, "/DC0/datastore/LocalDS_1")
	if err != nil {
		t.Fatal(err)
	}
	to := ds.Reference()
	task, err := vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Datastore: &to}, types.VirtualMachineMovePriorityDefaultPriority)
	wait(ctx, t, task, err)
	files := diskFiles(ctx, t, c, vm)
	if want := "[LocalDS_1] vm/vm.vmdk"; files[0] != want || !slices.Equal(uuids(vm), before) {
		t.Errorf("after a Storage vMotion %v has %v, want %s with %v", files, uuids(vm), want, before)
	}
	if err := attach(ctx, t, proxy, files[0], ""); err != nil {
		t.Fatal(err)
	}
	if got := uuids(proxy); got[len(got)-1] != before[0] {
		t.Errorf("attached elsewhere it has %s, want %s", got[len(got)-1], before[0])
	}
	again := create(ctx, t, c, p, machine("vm-2"))
	was := uuids(again)
	task, err = again.Destroy(ctx)
	wait(ctx, t, task, err)
	if got := uuids(create(ctx, t, c, p, machine("vm-2"))); slices.Equal(got, was) {
		t.Errorf("a new disk of the same path has the UUID %v of the one that was deleted", got)
	}
}
