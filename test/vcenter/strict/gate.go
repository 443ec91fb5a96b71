// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
)

var gateRef = types.ManagedObjectReference{Type: "SlipwayGate", Value: "gate"}

// Rebooter restarts the guest of a virtual machine whose lock is held by ctx.
type Rebooter interface {
	Reboot(ctx *simulator.Context, vm *simulator.VirtualMachine)
}

// Policies know the profiles of storage policies.
type Policies interface {
	// Knows reports whether a profile exists.
	Knows(profile string) bool
	// Associate puts an object under a profile: vm-42 is the home of a virtual machine,
	// vm-42:2000 a disk.
	Associate(object, profile string)
}

// Gate checks and carries out the operations on virtual machines.
//
// It carries a managed object because the simulator's searches look into every
// object of the registry and panic on one without.
type Gate struct {
	mo.ServiceManager

	// Policies is notified of objects and their profiles.
	Policies Policies

	// Importer is the account whose privileges count for NewVM.
	Importer string

	guests Rebooter
	sight  *sight.Sight
	others Handlers
	macs   *macPool

	mu      sync.Mutex
	names   map[slot]struct{}                       // being created
	uuids   map[string]types.ManagedObjectReference // instance UUID to its owner; an empty owner is being created
	waiting map[types.ManagedObjectReference][]func(types.TaskInfo)

	contents map[types.ManagedObjectReference]contents // of disks, by snapshot

	shelf map[string]*mo.VirtualMachine // not in the inventory, by the path of the .vmx file

	starts  sync.Mutex // see start
	turns   *turns
	delays  map[string]time.Duration                                      // of the tasks of calls
	running map[types.ManagedObjectReference]types.ManagedObjectReference // tasks of busy virtual machines
	asking  map[types.ManagedObjectReference]*question                    // asked at the next power-on
	asked   map[types.ManagedObjectReference]*question                    // waiting for an answer
	// ignoring are the virtual machines whose guests ignore shutdown requests.
	ignoring map[types.ManagedObjectReference]bool
	ended    chan struct{} // closed when a restart ends running operations
	// generation counts those restarts.
	generation int
	// captureTime is the duration of creating a library item from a virtual machine.
	captureTime time.Duration
	// importTime is the duration of the import in a deployment.
	importTime time.Duration
	// sessions contains the objects that each session has opened, by its key.
	sessions map[string]*simulator.Registry

	building map[types.ManagedObjectReference]*construction // by folder, whose lock makes it one at a time

	recent *recent
}

// slot is a name in a folder.
type slot struct {
	folder types.ManagedObjectReference
	name   string
}

// handled are the calls that go through the gate, by the kind of their target.
var handled = map[string]map[string]bool{
	"ServiceInstance": {"CurrentTime": true},
	"TaskManager":     {"CreateCollectorForTasks": true},
	"Folder":          {"CreateVM_Task": true, "MoveIntoFolder_Task": true, "RegisterVM_Task": true, "Destroy_Task": true},
	"ResourcePool":    {"ImportVApp": true},
	"VirtualApp":      {"ImportVApp": true, "CreateChildVM_Task": true},
	"VirtualMachine": {
		"CloneVM_Task": true, "RelocateVM_Task": true, "ReconfigVM_Task": true, "Rename_Task": true,
		"ShutdownGuest": true, "StandbyGuest": true, "RebootGuest": true, "UnregisterVM": true, "AnswerVM": true,
		"Destroy_Task": true, "AttachDisk_Task": true, "DetachDisk_Task": true,
		"PromoteDisks_Task": true, "ConsolidateVMDisks_Task": true, "AcquireTicket": true,
		"MarkAsTemplate": true, "MarkAsVirtualMachine": true,
		"CreateSnapshot_Task": true, "CreateSnapshotEx_Task": true, "RemoveAllSnapshots_Task": true,
	},
	"VirtualMachineSnapshot": {"RemoveSnapshot_Task": true, "RevertToSnapshot_Task": true},
}

// Handlers are objects that answer all calls with a matching method for a kind of target.
type Handlers map[string]mo.Reference

// Install puts the gate before the registry's operations.
//
// Calls to a kind of object that others has an answer for go to that one.
func Install(registry *simulator.Registry, guests Rebooter, seen *sight.Sight, others Handlers) *Gate {
	g := &Gate{
		guests:   guests,
		sight:    seen,
		others:   others,
		shelf:    map[string]*mo.VirtualMachine{},
		contents: map[types.ManagedObjectReference]contents{},
		turns:    newTurns(),
		delays:   map[string]time.Duration{},
		running:  map[types.ManagedObjectReference]types.ManagedObjectReference{},
		asking:   map[types.ManagedObjectReference]*question{},
		asked:    map[types.ManagedObjectReference]*question{},
		ended:    make(chan struct{}),

		sessions: map[string]*simulator.Registry{},
		macs:     newMACPool(),
		names:    map[slot]struct{}{},
		uuids:    map[string]types.ManagedObjectReference{},
		waiting:  map[types.ManagedObjectReference][]func(types.TaskInfo){},

		building: map[types.ManagedObjectReference]*construction{},
		ignoring: map[types.ManagedObjectReference]bool{},
	}
	for _, e := range registry.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok && vm.Config != nil {
			g.uuids[strings.ToLower(vm.Config.InstanceUuid)] = vm.Self
			g.macs.take(vm.Config.Hardware.Device)
		}
	}
	g.Self = gateRef
	registry.Put(g)
	registry.AddHandler(g)
	g.recent = keepRecent(registry)
	registry.Handler = g.direct
	return g
}

// direct sends the handled calls of authenticated clients to the gate. The body
// of the call keeps the real target.
func (g *Gate) direct(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return nil, nil
	}
	g.remember(ctx.Session)
	if !g.sight.Exists(method.This) {
		return nil, &types.ManagedObjectNotFound{Obj: method.This}
	}
	if ctx.Session.Get(method.This) == nil {
		return nil, nil // the simulator's answer to an unknown target is right
	}
	if fault := checkCall(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := g.permitted(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := enabled(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := g.operable(ctx, method); fault != nil {
		refuse(method, fault)
		return nil, nil
	}
	if g.supervised(method) {
		supervise(method)
		return nil, nil
	}
	if other, ok := g.others[method.This.Type]; ok && answers(other, method.Name) {
		method.This = other.Reference()
		return nil, nil
	}
	if handled[method.This.Type][method.Name] {
		method.This = gateRef
	}
	return nil, nil
}

// answers reports whether the object has a method for the call.
func answers(obj mo.Reference, call string) bool {
	return reflect.ValueOf(obj).MethodByName(strings.Replace(call, "_Task", "Task", 1)).IsValid()
}

// Lock does nothing, because the gate has no lock of its own: it uses the lock of the target.
func (g *Gate) Lock() {}

// Unlock does nothing, as Lock.
func (g *Gate) Unlock() {}

// PutObject is called by the registry for every new object.
func (g *Gate) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		g.entered(vm)
	}
}

// UpdateObject is called by the registry for every changed object. It notifies the waiters of ended tasks, and
// computes sockets at power-on.
func (g *Gate) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	if vm, ok := obj.(*mo.VirtualMachine); ok {
		sizeSockets(ctx, vm, changes)
		return
	}
	task, ok := obj.(*mo.Task)
	if !ok || !ended(task.Info) {
		return
	}
	g.settle(task.Self, task.Info)
}

// RemoveObject is called by the registry for every removed object; it frees the
// instance UUID of a virtual machine.
func (g *Gate) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type != "VirtualMachine" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, owner := range g.uuids {
		if owner == ref {
			delete(g.uuids, id)
			return
		}
	}
}
