// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// findByUUID finds a virtual machine as clients do. The result is empty if there is none.
func findByUUID(ctx context.Context, t *testing.T, c *govmomi.Client, id string) string {
	t.Helper()
	found, err := object.NewSearchIndex(c.Client).FindByUuid(ctx, nil, id, true, types.NewBool(true))
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		return ""
	}
	return found.Reference().Value
}

// stream is a property stream of single steps.
type stream struct {
	c       *govmomi.Client
	pc      *property.Collector
	version string
}

// follow watches paths of the virtual machines in a folder.
func follow(ctx context.Context, t *testing.T, c *govmomi.Client, folder object.Reference, paths ...string) *stream {
	t.Helper()
	res, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
		This: *c.ServiceContent.ViewManager, Container: folder.Reference(), Type: []string{"VirtualMachine"}, Recursive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: res.Returnval, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "ContainerView", Path: "view"},
		}}},
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{c: c, pc: pc}
	s.next(ctx, t)
	return s
}

// next returns the next updates, by object.
func (s *stream) next(ctx context.Context, t *testing.T) map[string]types.ObjectUpdate {
	t.Helper()
	res, err := methods.WaitForUpdatesEx(ctx, s.c, &types.WaitForUpdatesEx{
		This: s.pc.Reference(), Version: s.version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	updates := map[string]types.ObjectUpdate{}
	if res.Returnval == nil {
		t.Fatal("nothing changed within 20 s")
	}
	s.version = res.Returnval.Version
	for _, f := range res.Returnval.FilterSet {
		for _, u := range f.ObjectSet {
			updates[u.Obj.Value] = u
		}
	}
	return updates
}

func TestInaccessibleVM_HasNoConfigurationAndRejectsOperations(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	id := read(ctx, t, c, vm).Config.InstanceUuid
	watched := follow(ctx, t, c, p.folder, "name", "config.instanceUuid", "runtime.connectionState")

	if _, err := s.Events().Hide("db", ""); err != nil {
		t.Fatal(err)
	}
	got := map[string]types.PropertyChange{}
	for _, change := range watched.next(ctx, t)[vm.Reference().Value].ChangeSet {
		got[change.Name] = change
	}
	const path = "%2fvmfs%2fvolumes%2fLocalDS_0%2fdb%2fdb.vmx"
	want := map[string]types.PropertyChange{
		"name":                    {Name: "name", Op: types.PropertyChangeOpAssign, Val: path},
		"config.instanceUuid":     {Name: "config.instanceUuid", Op: types.PropertyChangeOpIndirectRemove},
		"runtime.connectionState": {Name: "runtime.connectionState", Op: types.PropertyChangeOpAssign, Val: types.VirtualMachineConnectionStateInaccessible},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the stream (-want +got):\n%s", diff)
	}
	now := read(ctx, t, c, vm)
	if now.Config != nil || now.Name != path || now.Runtime.ConnectionState != types.VirtualMachineConnectionStateInaccessible ||
		now.Summary.Config.InstanceUuid != "" || now.Summary.Runtime.ConnectionState != types.VirtualMachineConnectionStateInaccessible {
		t.Errorf("read: config %v, name %q, %s, summary %+v", now.Config, now.Name, now.Runtime.ConnectionState, now.Summary.Config)
	}
	if found := findByUUID(ctx, t, c, id); found != "" {
		t.Errorf("FindByUuid gave %s, want nothing", found)
	}
	for name, do := range map[string]func() (*object.Task, error){
		"power on":    func() (*object.Task, error) { return vm.PowerOn(ctx) },
		"destroy":     func() (*object.Task, error) { return vm.Destroy(ctx) },
		"reconfigure": func() (*object.Task, error) { return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2}) },
		"clone": func() (*object.Task, error) {
			return vm.Clone(ctx, p.folder, "copy", types.VirtualMachineCloneSpec{})
		},
	} {
		task, err := do()
		if err := faultOf(ctx, task, err); !fault.Is(err, &types.InvalidState{}) {
			t.Errorf("%s: got %v, want InvalidState", name, err)
		}
	}

	if err := s.Events().Show(vm.Reference().Value); err != nil {
		t.Fatal(err)
	}
	watched.next(ctx, t)
	if now := read(ctx, t, c, vm); now.Config == nil || now.Config.InstanceUuid != id || now.Name != "db" {
		t.Errorf("after it is back: config %v, name %q", now.Config, now.Name)
	}
	if found := findByUUID(ctx, t, c, id); found != vm.Reference().Value {
		t.Errorf("FindByUuid gave %q, want %s", found, vm.Reference().Value)
	}
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
}

func TestConnectionStates_ShowDifferentProperties(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	for state, want := range map[types.VirtualMachineConnectionState]struct {
		config, named bool
		power         types.VirtualMachinePowerState
		fault         types.BaseMethodFault
	}{
		types.VirtualMachineConnectionStateInaccessible: {false, false, types.VirtualMachinePowerStatePoweredOn, &types.InvalidState{}},
		types.VirtualMachineConnectionStateInvalid:      {false, false, types.VirtualMachinePowerStatePoweredOn, &types.InvalidState{}},
		types.VirtualMachineConnectionStateDisconnected: {true, true, types.VirtualMachinePowerStatePoweredOn, &types.InvalidHostConnectionState{}},
		types.VirtualMachineConnectionStateOrphaned:     {true, true, types.VirtualMachinePowerStatePoweredOff, &types.InvalidState{}},
	} {
		t.Run(string(state), func(t *testing.T) {
			if _, err := s.Events().Hide("db", state); err != nil {
				t.Fatal(err)
			}
			now := read(ctx, t, c, vm)
			if now.Runtime.ConnectionState != state || (now.Config != nil) != want.config || (now.Name == "db") != want.named || now.Runtime.PowerState != want.power {
				t.Errorf("%s, config %t, name %q, %s", now.Runtime.ConnectionState, now.Config != nil, now.Name, now.Runtime.PowerState)
			}
			task, err := vm.PowerOff(ctx)
			if err := faultOf(ctx, task, err); !fault.Is(err, want.fault) {
				t.Errorf("power off: got %v, want %T", err, want.fault)
			}
			if err := vm.ShutdownGuest(ctx); !fault.Is(err, want.fault) {
				t.Errorf("shutdown: got %v, want %T", err, want.fault)
			}
		})
	}
	if _, err := s.Events().Hide("db", "connected"); err == nil || !strings.Contains(err.Error(), "inaccessible") {
		t.Errorf("hide as connected: %v, want an error with the allowed values", err)
	}
	// "A virtual machine that is unregistered or deleted directly on a host" is removed by unregistering it.
	if _, err := s.Events().Hide("db", types.VirtualMachineConnectionStateOrphaned); err != nil {
		t.Fatal(err)
	}
	if err := vm.Unregister(ctx); err != nil {
		t.Fatal(err)
	}
}

// login returns a client of an account.
func login(ctx context.Context, t *testing.T, s *Server, account string) *govmomi.Client {
	t.Helper()
	c := dial(ctx, t, s)
	if err := c.Login(ctx, url.UserPassword(account, DefaultPassword)); err != nil {
		t.Fatalf("log in as %s: %v", account, err)
	}
	return c
}

func TestVM_IsHiddenWithoutPrivileges(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c, operator := connect(ctx, t, s), login(ctx, t, s, OperatorUsername)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	other := create(ctx, t, c, p, machine("web"))
	id := read(ctx, t, c, vm).Config.InstanceUuid
	watched := follow(ctx, t, c, p.folder, "name", "config.instanceUuid")

	if err := s.Events().Permit("db"); err != nil {
		t.Fatal(err)
	}
	if u := watched.next(ctx, t)[vm.Reference().Value]; u.Kind != types.ObjectUpdateKindLeave {
		t.Errorf("the stream sent %q of it, want leave", u.Kind)
	}
	if found := findByUUID(ctx, t, c, id); found != "" {
		t.Errorf("FindByUuid gave %s, want nothing", found)
	}
	var content []types.ObjectContent
	if err := property.DefaultCollector(c.Client).Retrieve(ctx, []types.ManagedObjectReference{vm.Reference()}, []string{"name", "config.instanceUuid"}, &content); err != nil {
		t.Fatal(err)
	}
	for _, o := range content {
		if len(o.PropSet) != 0 || len(o.MissingSet) != 2 {
			t.Errorf("a read gave %v, missing %v", o.PropSet, o.MissingSet)
		}
		for _, m := range o.MissingSet {
			if f, ok := m.Fault.Fault.(*types.NoPermission); !ok || f.PrivilegeId != "System.View" {
				t.Errorf("%s is missing for %#v, want NoPermission for System.View", m.Path, m.Fault.Fault)
			}
		}
	}
	if len(content) != 1 {
		t.Errorf("a read answered for %d objects, want 1", len(content))
	}
	if _, err := vm.PowerOn(ctx); !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("power on: got %v, want NoPermission", err)
	}
	var folder mo.Folder
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, p.folder.Reference(), []string{"childEntity"}, &folder); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]types.ManagedObjectReference{other.Reference()}, folder.ChildEntity); diff != "" {
		t.Errorf("children of the folder (-want +got):\n%s", diff)
	}
	if got := read(ctx, t, operator, object.NewVirtualMachine(operator.Client, vm.Reference())); got.Name != "db" {
		t.Errorf("another account reads the name %q", got.Name)
	}

	if err := s.Events().Unpermit("db"); err != nil {
		t.Fatal(err)
	}
	if u := watched.next(ctx, t)[vm.Reference().Value]; u.Kind != types.ObjectUpdateKindEnter {
		t.Errorf("the stream sent %q of it, want enter", u.Kind)
	}
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
}

func TestPrivileges_AreListedPerObjectAndEnforced(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	if err := s.Events().Withhold("/DC0/vm/slipway", "VirtualMachine.Config.CPUCount", "VirtualMachine.Inventory.Create"); err != nil {
		t.Fatal(err)
	}
	session, err := c.SessionManager.UserSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	asked := []string{"VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory"}
	for _, e := range []object.Reference{vm, p.folder, p.vmFolder} {
		res, err := methods.HasPrivilegeOnEntities(ctx, c, &types.HasPrivilegeOnEntities{
			This: *c.ServiceContent.AuthorizationManager, Entity: []types.ManagedObjectReference{e.Reference()}, SessionId: session.Key, PrivId: asked,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range res.Returnval[0].PrivAvailability {
			granted[e.Reference().Value+" "+a.PrivId] = a.IsGranted
		}
	}
	want := map[string]bool{
		vm.Reference().Value + " " + asked[0]: false, vm.Reference().Value + " " + asked[1]: true,
		p.folder.Reference().Value + " " + asked[0]: false, p.folder.Reference().Value + " " + asked[1]: true,
		p.vmFolder.Reference().Value + " " + asked[0]: true, p.vmFolder.Reference().Value + " " + asked[1]: true,
	}
	if diff := cmp.Diff(want, granted); diff != "" {
		t.Errorf("HasPrivilegeOnEntities (-want +got):\n%s", diff)
	}
	fetched, err := object.NewAuthorizationManager(c.Client).FetchUserPrivilegeOnEntities(ctx, []types.ManagedObjectReference{p.folder.Reference()}, DefaultUsername)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(fetched[0].Privileges, " ")
	if strings.Contains(all, asked[0]) || !strings.Contains(all, asked[1]) {
		t.Errorf("FetchUserPrivilegeOnEntities has %s", all)
	}
	noPermission := func(what, id string, err error) {
		t.Helper()
		var no *types.NoPermission
		if _, ok := fault.As(err, &no); !ok || no.PrivilegeId != id {
			t.Errorf("%s: got %v (%+v), want NoPermission for %s", what, err, no, id)
		}
	}
	_, err = vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
	noPermission("reconfigure", asked[0], err)
	_, err = p.folder.CreateVM(ctx, machine("new"), p.pool, nil)
	noPermission("create", "VirtualMachine.Inventory.Create", err)
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{MemoryMB: 4096})
	wait(ctx, t, task, err)

	r := connectREST(ctx, t, c)
	deploy := func() error {
		_, err := vcenter.NewManager(r).DeployLibraryItem(ctx, libraryItem(t, r), deployment(t, p, "deployed", uuid.NewString()))
		return err
	}
	if err := s.Events().Withhold("/DC0/host/DC0_C0/Resources", "VApp.Import"); err != nil {
		t.Fatal(err)
	}
	if err := deploy(); err == nil || !strings.Contains(err.Error(), "NoPermission") {
		t.Errorf("deploy: got %v, want NoPermission", err)
	}
	if err := s.Events().Unpermit("/DC0/host/DC0_C0/Resources"); err != nil {
		t.Fatal(err)
	}
	if err := deploy(); err != nil {
		t.Errorf("deploy with all privileges: %v", err)
	}
}
