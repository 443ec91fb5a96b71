// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// facts are the values that must survive a restart.
type facts struct {
	Name, InstanceUUID, UUID, Firmware, IP, MAC, Extra string
	Power                                              types.VirtualMachinePowerState
	CPUs, MemoryMB                                     int32
	Parent, Host, Pool                                 string
}

func factsOf(vm mo.VirtualMachine) facts {
	f := facts{
		Name: vm.Name, InstanceUUID: vm.Config.InstanceUuid, UUID: vm.Config.Uuid, Firmware: vm.Config.Firmware,
		IP: vm.Guest.IpAddress, Power: vm.Runtime.PowerState,
		CPUs: vm.Config.Hardware.NumCPU, MemoryMB: vm.Config.Hardware.MemoryMB,
		Parent: vm.Parent.Value, Host: vm.Runtime.Host.Value, Pool: vm.ResourcePool.Value,
	}
	f.Extra, _ = object.OptionValueList(vm.Config.ExtraConfig).GetString("guestinfo.who")
	for _, d := range vm.Config.Hardware.Device {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			f.MAC = card.GetVirtualEthernetCard().MacAddress
		}
	}
	return f
}

func TestRestore_KeepsTheInventory(t *testing.T) {
	ctx := testContext(t)
	state := t.TempDir()
	before := map[string]facts{}
	refs := map[string]types.ManagedObjectReference{}

	first, err := Start(ctx, Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(ctx, t, first)
	p := findPlaces(ctx, t, c)
	sub, err := p.folder.CreateFolder(ctx, "namespace-a")
	if err != nil {
		t.Fatal(err)
	}
	p.folder = sub
	for i := range 3 {
		spec := machine(fmt.Sprintf("kept-%d", i))
		spec.InstanceUuid = uuid.NewString()
		spec.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.who", Value: spec.Name}}
		vm := create(ctx, t, c, p, spec)
		if i != 0 {
			task, err := vm.PowerOn(ctx)
			wait(ctx, t, task, err)
			if _, err := vm.WaitForIP(ctx, true); err != nil {
				t.Fatal(err)
			}
		}
		before[spec.Name], refs[spec.Name] = factsOf(read(ctx, t, c, vm)), vm.Reference()
	}
	installation := c.ServiceContent.About.InstanceUuid
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(first.filesDir), filepath.Base(first.filesDir)+"*")); len(left) != 0 {
		t.Errorf("the stop left %v", left)
	}

	second := startServer(t, Options{StateDir: state})
	c = connect(ctx, t, second)
	if second.Ready().Thumbprint != first.Ready().Thumbprint {
		t.Error("the self-signed certificate was not kept")
	}
	if got := c.ServiceContent.About.InstanceUuid; got != installation || got == "" {
		t.Errorf("it is installation %q now and was %q", got, installation)
	}
	after := map[string]facts{}
	for name, ref := range refs {
		after[name] = factsOf(read(ctx, t, c, object.NewVirtualMachine(c.Client, ref)))
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("machines differ after the restart (-before +after):\n%s", diff)
	}
	finder := find.NewFinder(c.Client)
	list, err := finder.VirtualMachineList(ctx, "/DC0/vm/slipway/namespace-a/*")
	if err != nil || len(list) != 3 {
		t.Fatalf("%d machines in the folder, error %v", len(list), err)
	}
	libraryItem(t, connectREST(ctx, t, c))
	checkUsable(ctx, t, second, refs, before)
}

func TestRestore_KeepsTheNameOfARenamedNetwork(t *testing.T) {
	ctx := testContext(t)
	state := t.TempDir()
	first, err := Start(ctx, Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	n, err := find.NewFinder(connect(ctx, t, first).Client).Network(ctx, "/DC0/network/DC0_DVPG0")
	if err != nil {
		t.Fatal(err)
	}
	task, err := n.(*object.DistributedVirtualPortgroup).Rename(ctx, "10.20.0.0%2f24")
	wait(ctx, t, task, err)
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	f := find.NewFinder(connect(ctx, t, startServer(t, Options{StateDir: state})).Client)
	if again, err := f.Network(ctx, "/DC0/network/10.20.0.0%2f24"); err != nil || again.Reference() != n.Reference() {
		t.Errorf("after a restart: %v, %v; want the renamed %s", again, err, n.Reference())
	}
}

func TestVCenters_HaveDifferentInstanceUUIDs(t *testing.T) {
	ctx := testContext(t)
	one := dial(ctx, t, startServer(t, Options{StateDir: t.TempDir()})).ServiceContent.About.InstanceUuid
	two := dial(ctx, t, startServer(t, Options{StateDir: t.TempDir()})).ServiceContent.About.InstanceUuid
	if one == two || one == "" {
		t.Errorf("the instance UUIDs are %q and %q", one, two)
	}
}

// checkUsable checks that the restored inventory can be used: VMs can be destroyed, their names can be used again, and new
// ones get their own references and addresses.
func checkUsable(ctx context.Context, t *testing.T, s *Server, refs map[string]types.ManagedObjectReference, old map[string]facts) {
	t.Helper()
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	folder, err := find.NewFinder(c.Client).Folder(ctx, "/DC0/vm/slipway/namespace-a")
	if err != nil {
		t.Fatal(err)
	}
	p.folder = folder
	vm := object.NewVirtualMachine(c.Client, refs["kept-1"])
	task, err := vm.PowerOff(ctx)
	wait(ctx, t, task, err)
	path := read(ctx, t, c, vm).Config.Files.VmPathName
	task, err = vm.Destroy(ctx)
	wait(ctx, t, task, err)

	again := create(ctx, t, c, p, machine("kept-1"))
	for name, ref := range refs {
		if ref == again.Reference() {
			t.Errorf("%s and the new machine have the reference %s", name, ref)
		}
	}
	got := read(ctx, t, c, again)
	if got.Config.Files.VmPathName != path {
		t.Errorf("the new machine is at %s, want %s: the files of the old one are still there", got.Config.Files.VmPathName, path)
	}
	for name, f := range old {
		if mac := factsOf(got).MAC; mac == f.MAC && name != "kept-1" {
			t.Errorf("the new machine has the MAC address %s of %s", mac, name)
		}
	}
}

func TestRestore_RejectsTheStateOfAnotherInventory(t *testing.T) {
	state := t.TempDir()
	first, err := Start(t.Context(), Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	first.inv.Base = append(first.inv.Base, "HostSystem:host-999 DC9_H9")
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{StateDir: state}); err == nil || !strings.Contains(err.Error(), "different version") {
		t.Errorf("got %v, want that the state was made by a different version", err)
	}
}

func TestRestore_RemovesFilesOfAKilledRun(t *testing.T) {
	state := t.TempDir()
	left := filepath.Join(t.TempDir(), "slipway-vcenter-123")
	foreign := filepath.Join(t.TempDir(), "precious")
	for _, dir := range []string{left, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeRun(state, left, foreign); err != nil {
		t.Fatal(err)
	}
	startServer(t, Options{StateDir: state})
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there", left)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a directory that no run makes was removed: %v", err)
	}
}
