// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// expectDeleted fails the test if vCenter has an object with the reference.
func expectDeleted(ctx context.Context, t *testing.T, c *govmomi.Client, o object.Reference) {
	t.Helper()
	var content []types.ObjectContent
	err := property.DefaultCollector(c.Client).RetrieveOne(ctx, o.Reference(), []string{"name"}, &content)
	if !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Fatalf("reading %s: got %v, want ManagedObjectNotFound", o.Reference(), err)
	}
}

func TestRegister_RestoresAVMUnderAnotherID(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	spec := machine("db")
	spec.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "slipway.owner", Value: "u-1"}}
	vm := create(ctx, t, c, p, spec)
	before := read(ctx, t, c, vm)
	watched := follow(ctx, t, c, p.folder, "name", "config.instanceUuid")

	if err := vm.Unregister(ctx); err != nil {
		t.Fatal(err)
	}
	if u := watched.next(ctx, t)[vm.Reference().Value]; u.Kind != types.ObjectUpdateKindLeave {
		t.Errorf("the stream sent %q of it, want leave", u.Kind)
	}
	expectDeleted(ctx, t, c, vm)
	task, err := p.folder.RegisterVM(ctx, before.Config.Files.VmPathName, "", false, p.pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := info.Result.(types.ManagedObjectReference)
	if ref == vm.Reference() || ref.Value == "" {
		t.Fatalf("it was registered as %v, want another ID than %v", ref, vm.Reference())
	}
	after := read(ctx, t, c, object.NewVirtualMachine(c.Client, ref))
	if diff := cmp.Diff(before.Config, after.Config); diff != "" {
		t.Errorf("its configuration (-before +after):\n%s", diff)
	}
	if after.Name != "db" || *after.Parent != p.folder.Reference() || *after.ResourcePool != *before.ResourcePool {
		t.Errorf("it is %q in %v and %v", after.Name, after.Parent, after.ResourcePool)
	}
	if u := watched.next(ctx, t)[ref.Value]; u.Kind != types.ObjectUpdateKindEnter {
		t.Errorf("the stream sent %q of it, want enter", u.Kind)
	}
	task, err = p.folder.RegisterVM(ctx, before.Config.Files.VmPathName, "", false, p.pool, nil)
	if err := faultOf(ctx, task, err); !fault.Is(err, &types.AlreadyExists{}) {
		t.Errorf("registered again: got %v, want AlreadyExists", err)
	}
	again := object.NewVirtualMachine(c.Client, ref)
	for _, do := range []func(context.Context) (*object.Task, error){again.PowerOn, again.PowerOff, again.Destroy} {
		task, err := do(ctx)
		wait(ctx, t, task, err)
	}
	expectDeleted(ctx, t, c, again)
}

func TestRegister_ReplacesAConflictingInstanceUUID(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	id := uuid.NewString()
	named := func(name string) types.VirtualMachineConfigSpec {
		spec := machine(name)
		spec.InstanceUuid = id
		return spec
	}
	original := create(ctx, t, c, p, named("db"))
	path, err := s.Events().Unregister("db")
	if err != nil {
		t.Fatal(err)
	}
	twin := create(ctx, t, c, p, named("db"))
	if got := read(ctx, t, c, twin).Config; got.InstanceUuid != id || got.Files.VmPathName != "[LocalDS_0] db_1/db.vmx" {
		t.Fatalf("the twin has %s in %s, want %s, which is free, and a directory of its own", got.InstanceUuid, got.Files.VmPathName, id)
	}
	if _, err := s.Events().Register(path, ""); err == nil || !fault.Is(err, &types.DuplicateName{}) {
		t.Errorf("register next to the twin: got %v, want DuplicateName", err)
	}
	task, err := twin.Rename(ctx, "twin")
	wait(ctx, t, task, err)
	back, err := s.Events().Register(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if back == original.Reference().Value {
		t.Errorf("the original is back under %s, want another ID", back)
	}
	original = object.NewVirtualMachine(c.Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: back})
	third := create(ctx, t, c, p, named("third"))
	task, err = third.Reconfigure(ctx, types.VirtualMachineConfigSpec{InstanceUuid: id})
	wait(ctx, t, task, err)
	seen := map[string]string{}
	for name, vm := range map[string]*object.VirtualMachine{"original": original, "twin": twin, "third": third} {
		got := read(ctx, t, c, vm).Config.InstanceUuid
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s have the instance UUID %s", name, other, got)
		}
		seen[got] = name
	}
	if seen[id] != "twin" {
		t.Errorf("%q has the instance UUID that the twin had first", seen[id])
	}

	task, err = original.Destroy(ctx)
	wait(ctx, t, task, err)
	files, err := s.Events().Files()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "[LocalDS_0] db_1/db.vmdk") || slices.Contains(files, "[LocalDS_0] db/") {
		t.Errorf("after the original was destroyed the datastores have %q, want those of the twin only", files)
	}

	old, err := s.Events().SetInstanceUUID("twin", "")
	if err != nil {
		t.Fatal(err)
	}
	if now := read(ctx, t, c, twin).Config.InstanceUuid; old != id || now == id {
		t.Errorf("changed by a user: from %s to %s, want another one than %s", old, now, id)
	}
}

func TestRemovedHost_ReturnsWithItsVMsUnderOtherIDs(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{GuestBootDelay: DefaultGuestBootDelay})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	finder := find.NewFinder(c.Client)
	hosts, err := finder.HostSystemList(ctx, "/DC0/host/DC0_C0/*")
	if err != nil {
		t.Fatal(err)
	}
	if template := read(ctx, t, c, p.template); *template.Runtime.Host == hosts[0].Reference() {
		slices.Reverse(hosts) // the template is kept
	}
	task, err := p.folder.CreateVM(ctx, machine("db"), p.pool, hosts[0])
	wait(ctx, t, task, err)
	task, err = p.folder.CreateVM(ctx, machine("elsewhere"), p.pool, hosts[1])
	wait(ctx, t, task, err)
	vm, err := finder.VirtualMachine(ctx, "/DC0/vm/slipway/db")
	if err != nil {
		t.Fatal(err)
	}
	task, err = vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	before := read(ctx, t, c, vm)

	away, err := s.Events().RemoveHost(hosts[0].Name())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{vm.Reference().Value}, away); diff != "" {
		t.Errorf("the removed VMs (-want +got):\n%s", diff)
	}
	expectDeleted(ctx, t, c, vm)
	expectDeleted(ctx, t, c, hosts[0])
	if found := findByUUID(ctx, t, c, before.Config.InstanceUuid); found != "" {
		t.Errorf("FindByUuid gave %s", found)
	}
	if left, err := finder.HostSystemList(ctx, "/DC0/host/DC0_C0/*"); err != nil || len(left) != len(hosts)-1 {
		t.Errorf("%d hosts are left of %d, %v", len(left), len(hosts), err)
	}
	task, err = p.folder.CreateVM(ctx, machine("meanwhile"), p.pool, nil)
	wait(ctx, t, task, err)

	ids, err := s.Events().AddHost(hosts[0].Name(), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 1 || ids[0] == vm.Reference().Value {
		t.Fatalf("the machines are back as %v, want one under another ID than %s", ids, vm.Reference().Value)
	}
	back := object.NewVirtualMachine(c.Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: ids[0]})
	after := read(ctx, t, c, back)
	if after.Config.InstanceUuid != before.Config.InstanceUuid || after.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("it is back with the instance UUID %s, %s", after.Config.InstanceUuid, after.Runtime.PowerState)
	}
	var host mo.HostSystem
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, *after.Runtime.Host, []string{"name", "vm"}, &host); err != nil {
		t.Fatal(err)
	}
	if host.Name != hosts[0].Name() || len(host.Vm) != 1 || host.Vm[0] != back.Reference() {
		t.Errorf("it is on %s, which has %v", host.Name, host.Vm)
	}
	eventually(ctx, t, "its guest completes its boot", func() bool { return read(ctx, t, c, back).Guest.IpAddress != "" })
	task, err = back.PowerOff(ctx)
	wait(ctx, t, task, err)
}

func TestContainerView_FollowsMovesAndRenames(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	id := vm.Reference().Value
	sub, err := p.folder.CreateFolder(ctx, "namespace-b")
	if err != nil {
		t.Fatal(err)
	}
	watched := follow(ctx, t, c, p.folder, "name")
	move := func(what object.Reference, to *object.Folder) {
		t.Helper()
		task, err := to.MoveInto(ctx, []types.ManagedObjectReference{what.Reference()})
		wait(ctx, t, task, err)
	}
	task, err := vm.Rename(ctx, "renamed")
	wait(ctx, t, task, err)
	if u := watched.next(ctx, t)[id]; len(u.ChangeSet) != 1 || u.ChangeSet[0].Val != "renamed" {
		t.Errorf("the rename is %+v in the stream", u)
	}
	move(vm, p.vmFolder)
	if u := watched.next(ctx, t)[id]; u.Kind != types.ObjectUpdateKindLeave {
		t.Errorf("moved out: the stream sent %q, want leave", u.Kind)
	}
	move(vm, sub)
	if u := watched.next(ctx, t)[id]; u.Kind != types.ObjectUpdateKindEnter {
		t.Errorf("moved in: the stream sent %q, want enter", u.Kind)
	}
	move(sub, p.vmFolder)
	if u := watched.next(ctx, t)[id]; u.Kind != types.ObjectUpdateKindLeave {
		t.Errorf("its folder moved out: the stream sent %q, want leave", u.Kind)
	}
	move(sub, p.folder)
	if u := watched.next(ctx, t)[id]; u.Kind != types.ObjectUpdateKindEnter {
		t.Errorf("its folder moved in: the stream sent %q, want enter", u.Kind)
	}
	move(vm, p.folder) // within the container
	other := create(ctx, t, c, p, machine("web")).Reference().Value
	updates := watched.next(ctx, t)
	for updates[other].Kind == "" {
		updates = watched.next(ctx, t)
	}
	if u, told := updates[id]; told {
		t.Errorf("a move within the container is %+v in the stream", u)
	}
}
