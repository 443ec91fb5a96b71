// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestMain(m *testing.M) { simulated.Main(m) }

const managedFolder = "/DC0/vm/slipway"

// followed is an inventory of a simulated vCenter.
type followed struct {
	*Inventory
	ready    vcenter.Ready
	operator *govmomi.Client
	// lost is the number of removed records, announced the number of changed records.
	lost, announced atomic.Int32
	// stop ends the stream.
	stop func()
}

func startInventory(t *testing.T) *followed {
	t.Helper()
	f := &followed{ready: simulated.Start(t)}
	f.operator = simulated.Operator(t, f.ready)
	s, err := session.New(session.Options{
		URL: f.ready.URL, CAFile: f.ready.CAFile,
		Credentials: func(context.Context) (string, string, error) {
			return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	places := placement.New(placement.Options{Session: s, Folder: managedFolder})
	f.Inventory = New(Options{
		Session: s, MaxWait: 2,
		Folders: func(ctx context.Context) ([]types.ManagedObjectReference, error) {
			ref, _, err := places.Folder(ctx)
			return []types.ManagedObjectReference{ref}, err
		},
		OnChange: func(old, changed *mo.VirtualMachine) {
			switch {
			case changed == nil:
				f.lost.Add(1)
			case old == nil:
				f.announced.Add(1)
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	f.stop = func() { cancel(); <-ended }
	t.Cleanup(f.stop)
	simulated.Eventually(t, "the inventory was read", f.Synced)
	return f
}

// create creates a virtual machine in the folder.
func (f *followed) create(t *testing.T, folder, name string) *object.VirtualMachine {
	t.Helper()
	finder := find.NewFinder(f.operator.Client)
	in, err := finder.Folder(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := finder.ResourcePool(t.Context(), "/DC0/host/DC0_C0/Resources")
	if err != nil {
		t.Fatal(err)
	}
	task, err := in.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: name, NumCPUs: 1, MemoryMB: 32, GuestId: string(types.VirtualMachineGuestOsIdentifierOtherGuest64),
		Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(f.operator.Client, info.Result.(types.ManagedObjectReference))
	simulated.Eventually(t, name+" is known", func() bool { return f.Get(vm.Reference()) != nil })
	return vm
}

func (f *followed) move(t *testing.T, vm *object.VirtualMachine, folder string) {
	t.Helper()
	q := url.Values{"vm": {vm.Reference().Value}, "folder": {folder}}
	simulated.Control(t, f.ready, http.MethodPost, "/vm/move?"+q.Encode())
}

func finish(t *testing.T, task *object.Task, err error) {
	t.Helper()
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestInventory_FollowsAVMThatLeavesTheManagedFolder(t *testing.T) {
	f := startInventory(t)
	vm := f.create(t, managedFolder, "web")
	ref := vm.Reference()
	if f.IsOutside(ref) {
		t.Error("IsOutside is true for a virtual machine in the managed folder")
	}
	before := f.announced.Load()
	f.move(t, vm, "/DC0/vm")
	simulated.Eventually(t, "the VM is outside of the managed folder", func() bool { return f.IsOutside(ref) })
	simulated.Eventually(t, "the move is announced", func() bool { return f.announced.Load() > before })
	task, err := vm.PowerOn(t.Context())
	finish(t, task, err)
	simulated.Eventually(t, "a change outside of the folder is seen", func() bool {
		return f.Get(ref).Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
	})
	f.move(t, vm, managedFolder)
	simulated.Eventually(t, "the VM is in the managed folder", func() bool { return !f.IsOutside(ref) })
	f.move(t, vm, "/DC0/vm")
	simulated.Eventually(t, "the VM is outside of the managed folder again", func() bool { return f.IsOutside(ref) })
	if n := f.lost.Load(); n != 0 {
		t.Errorf("an existing virtual machine was published as deleted %d times", n)
	}
	task, err = vm.PowerOff(t.Context())
	finish(t, task, err)
	task, err = vm.Destroy(t.Context())
	finish(t, task, err)
	simulated.Eventually(t, "the record is removed", func() bool { return f.Get(ref) == nil })
}

func TestInventory_FollowsAVMThatLeavesTheManagedFolderDuringAnOutage(t *testing.T) {
	f := startInventory(t)
	vm := f.create(t, managedFolder, "web")
	simulated.Control(t, f.ready, http.MethodPost, "/outage?seconds=1")
	simulated.Eventually(t, "the loss of the stream is noticed", func() bool { return !f.Synced() })
	f.move(t, vm, "/DC0/vm")
	simulated.Eventually(t, "the VM is outside of the managed folder", func() bool { return f.Synced() && f.IsOutside(vm.Reference()) })
	simulated.Control(t, f.ready, http.MethodPost, "/sessions/drop")
	task, err := vm.PowerOn(t.Context())
	if err != nil { // The test's own session was dropped too.
		vm = object.NewVirtualMachine(simulated.Operator(t, f.ready).Client, vm.Reference())
		task, err = vm.PowerOn(t.Context())
	}
	finish(t, task, err)
	simulated.Eventually(t, "the next stream follows it too", func() bool {
		return f.IsOutside(vm.Reference()) && f.Get(vm.Reference()).Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
	})
	if n := f.lost.Load(); n != 0 {
		t.Errorf("an existing virtual machine was published as deleted %d times", n)
	}
}

func TestRefresh_FollowsAVMOutsideOfTheManagedFolder(t *testing.T) {
	f := startInventory(t)
	vms, err := find.NewFinder(f.operator.Client).VirtualMachineList(t.Context(), "/DC0/vm/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	ref := vms[0].Reference()
	if vm, err := f.Refresh(t.Context(), ref); vm == nil || err != nil {
		t.Fatalf("Refresh = %v, %v", vm, err)
	}
	simulated.Eventually(t, "the VM is outside of the managed folder", func() bool { return f.IsOutside(ref) })
}

func TestInventory_RecoversWhenTheManagedFolderIsRecreated(t *testing.T) {
	f := startInventory(t)
	old, err := find.NewFinder(f.operator.Client).Folder(t.Context(), managedFolder)
	if err != nil {
		t.Fatal(err)
	}
	gone := f.create(t, managedFolder, "gone").Reference()
	task, err := old.Destroy(t.Context())
	finish(t, task, err)
	simulated.Eventually(t, "the end of the folder is noticed", func() bool { return !f.Synced() })
	parent, err := find.NewFinder(f.operator.Client).Folder(t.Context(), "/DC0/vm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.CreateFolder(t.Context(), "slipway"); err != nil {
		t.Fatal(err)
	}
	f.create(t, managedFolder, "web")
	simulated.Eventually(t, "the records of the old folder are removed", func() bool { return f.Synced() && f.Get(gone) == nil })
}
