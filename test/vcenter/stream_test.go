// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/fastcollector"
)

var watched = []string{"name", "runtime.powerState", "config.hardware.numCPU", "guest.ipAddress"}

// mirror is a client's copy built from the property stream.
type mirror map[types.ManagedObjectReference]map[string]types.AnyType

func (m mirror) apply(updates []types.ObjectUpdate) {
	for _, u := range updates {
		switch u.Kind {
		case types.ObjectUpdateKindLeave:
			delete(m, u.Obj)
			continue
		case types.ObjectUpdateKindEnter:
			m[u.Obj] = map[string]types.AnyType{}
		}
		for _, c := range u.ChangeSet {
			m[u.Obj][c.Name] = c.Val
		}
	}
}

// watch follows all virtual machines until done accepts the mirror, and returns the number of updates per object.
func watch(ctx context.Context, t *testing.T, c *govmomi.Client, done func(mirror) bool) map[types.ManagedObjectReference]int {
	t.Helper()
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	filter := new(property.WaitFilter).Add(v.Reference(), "VirtualMachine", watched, v.TraversalSpec())
	m, counts := mirror{}, map[types.ManagedObjectReference]int{}
	err = property.WaitForUpdates(ctx, property.DefaultCollector(c.Client), filter, func(updates []types.ObjectUpdate) bool {
		for _, u := range updates {
			counts[u.Obj]++
		}
		m.apply(updates)
		return done(m)
	})
	if err != nil {
		t.Fatalf("the stream ended before the mirror was right: %v; mirror: %v", err, m)
	}
	return counts
}

func TestStream_MirrorsParallelClients(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	const clients, each = 4, 8
	var wg sync.WaitGroup
	for i := range clients {
		c := connect(ctx, t, s)
		p := findPlaces(ctx, t, c)
		wg.Go(func() {
			for j := range each {
				if err := live(ctx, c, p, fmt.Sprintf("vm-%d-%d", i, j), j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	c := connect(ctx, t, s)
	// Of eight VMs of a client two are destroyed, and six run with two CPUs.
	watch(ctx, t, c, func(m mirror) bool {
		right := 0
		for _, values := range m {
			if values["runtime.powerState"] == types.VirtualMachinePowerStatePoweredOn &&
				values["config.hardware.numCPU"] == int32(2) && values["guest.ipAddress"] != nil && values["guest.ipAddress"] != "" {
				right++
			}
		}
		return right == clients*6 && len(m) == clients*6+1 // the template
	})
	wg.Wait()
}

// putHandler calls a function when an object is put into a registry.
type putHandler func()

func (putHandler) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "PutHandler", Value: "put"}
}
func (f putHandler) PutObject(*simulator.Context, mo.Reference)                          { f() }
func (putHandler) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}
func (putHandler) RemoveObject(*simulator.Context, types.ManagedObjectReference)         {}

// The simulator fills a view, puts it into the session, and only then makes it follow changes.
func TestContainerView_IncludesChangesDuringItsCreation(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	deleted := create(ctx, t, c, p, machine("deleted")).Reference()
	var created types.ManagedObjectReference
	session := simulator.NewRegistry()
	session.AddHandler(putHandler(sync.OnceFunc(func() {
		created = create(ctx, t, c, p, machine("created")).Reference()
		task, err := object.NewVirtualMachine(c.Client, deleted).Destroy(ctx)
		wait(ctx, t, task, err)
	})))
	res, ok := s.hub.CreateContainerView(
		&simulator.Context{Context: ctx, Map: s.Registry(), Session: &simulator.Session{Registry: session, Map: s.Registry()}},
		&types.CreateContainerView{Container: c.ServiceContent.RootFolder, Type: []string{"VirtualMachine"}, Recursive: true},
	).(*methods.CreateContainerViewBody)
	if !ok || res.Res == nil {
		t.Fatalf("create a view: %v", res)
	}
	v, ok := session.Get(res.Res.Returnval).(*fastcollector.ContainerView)
	if !ok {
		t.Fatalf("the session has no view %s", res.Res.Returnval)
	}
	if !slices.Contains(v.View, created) || slices.Contains(v.View, deleted) || len(v.View) != 2 { // the template
		t.Errorf("the view has %v; want the template and %s, which was created in between, without %s, which was deleted", v.View, created, deleted)
	}
}

// live creates and resizes a VM. It then destroys every fourth, and powers the others on.
func live(ctx context.Context, c *govmomi.Client, p places, name string, n int) error {
	task, err := p.folder.CreateVM(ctx, machine(name), p.pool, nil)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	ref, _ := info.Result.(types.ManagedObjectReference)
	vm := object.NewVirtualMachine(c.Client, ref)
	steps := []func() (*object.Task, error){
		func() (*object.Task, error) {
			return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
		},
		func() (*object.Task, error) {
			if n%4 == 3 {
				return vm.Destroy(ctx)
			}
			return vm.PowerOn(ctx)
		},
	}
	for i, step := range steps {
		task, err := step()
		if err := faultOf(ctx, task, err); err != nil {
			return fmt.Errorf("step %d of %s: %w", i, name, err)
		}
	}
	return nil
}

func TestStream_SendsOnlyChanges(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{GuestBootDelay: 10 * testTimeout}))
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("quiet"))
	quiet := create(ctx, t, c, p, machine("other"))
	started := false
	counts := watch(ctx, t, c, func(m mirror) bool {
		if !started && len(m) == 3 {
			started = true
			for _, spec := range []types.VirtualMachineConfigSpec{{Annotation: "not watched"}, {NumCPUs: 2}} {
				task, err := vm.Reconfigure(ctx, spec)
				wait(ctx, t, task, err)
			}
		}
		return started && m[vm.Reference()]["config.hardware.numCPU"] == int32(2)
	})
	if counts[vm.Reference()] != 2 || counts[quiet.Reference()] != 1 {
		t.Errorf("%d updates of the changed machine, want 2 (enter, CPUs); %d of the other, want 1", counts[vm.Reference()], counts[quiet.Reference()])
	}
}

func TestStream_EndsWithADroppedSession(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	r := connectREST(ctx, t, c)
	libraryItem(t, r)
	ended := make(chan error, 1)
	entered := make(chan struct{}, 1)
	go func() {
		ended <- property.Wait(ctx, property.DefaultCollector(c.Client), c.ServiceContent.RootFolder, []string{"name"}, func([]types.PropertyChange) bool {
			entered <- struct{}{}
			return false
		})
	}()
	<-entered
	if n := s.Front().DropSessions(); n == 0 {
		t.Error("no session was dropped")
	}
	if err := <-ended; !fault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("the stream ended with %v, want NotAuthenticated", err)
	}
	if session, err := r.Session(ctx); err == nil && session != nil {
		t.Error("the vapi session outlived the drop")
	}
	if err := c.Login(ctx, account()); err != nil {
		t.Fatalf("log in again: %v", err)
	}
	if err := r.Login(ctx, account()); err != nil {
		t.Fatalf("log in to vapi again: %v", err)
	}
	libraryItem(t, r)
}

func TestStream_CanceledClientLeavesNoWait(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	short, cancel := context.WithCancel(ctx)
	err := property.Wait(short, property.DefaultCollector(c.Client), c.ServiceContent.RootFolder, []string{"name"}, func([]types.PropertyChange) bool {
		cancel()
		return false
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	// The collector is free again: a second stream on the same session works.
	watch(ctx, t, c, func(m mirror) bool { return len(m) == 1 })
}
