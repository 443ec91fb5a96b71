// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// Events applies events to an inventory.
type Events struct {
	registry *simulator.Registry
	sight    *sight.Sight
	gate     *strict.Gate
	// account is the account whose permissions are changed.
	account string

	mu        sync.Mutex
	hosts     map[string]removedHost // by name
	disturbed map[int]Disturbance
	last      int
}

// New returns the events of an inventory; permissions are those of the account.
func New(registry *simulator.Registry, seen *sight.Sight, gate *strict.Gate, account string) *Events {
	return &Events{
		registry: registry, sight: seen, gate: gate, account: account,
		hosts: map[string]removedHost{}, disturbed: map[int]Disturbance{},
	}
}

// vm finds a virtual machine by managed object ID, instance UUID or name.
func (e *Events) vm(id string) (*simulator.VirtualMachine, error) {
	if vm, ok := e.registry.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: id}).(*simulator.VirtualMachine); ok {
		return vm, nil
	}
	ctx := strict.Acting(e.registry)
	var found []*simulator.VirtualMachine
	for _, entity := range e.registry.All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if vm.Name == id || strings.EqualFold(vm.Config.InstanceUuid, id) {
				found = append(found, vm)
			}
		})
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("vm: %q: no virtual machine has this managed object ID, instance UUID or name", id)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("vm: %q: %d virtual machines have this name, give the managed object ID", id, len(found))
}

// entity finds any object of the inventory by its path, or a virtual machine as vm does.
func (e *Events) entity(at string) (mo.Entity, error) {
	if !strings.HasPrefix(at, "/") {
		return e.vm(at)
	}
	ctx := strict.Acting(e.registry)
	body, ok := e.registry.SearchIndex().FindByInventoryPath(ctx, &types.FindByInventoryPath{InventoryPath: at}).(*methods.FindByInventoryPathBody)
	if ok && body.Res != nil && body.Res.Returnval != nil {
		if entity, ok := e.registry.Get(*body.Res.Returnval).(mo.Entity); ok {
			return entity, nil
		}
	}
	return nil, fmt.Errorf("%q: nothing is at this inventory path", at)
}

func (e *Events) folder(path string) (*simulator.Folder, error) {
	entity, err := e.entity(path)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	folder, ok := entity.(*simulator.Folder)
	if !ok {
		return nil, fmt.Errorf("folder: %q is a %s", path, entity.Reference().Type)
	}
	return folder, nil
}

// Hide makes a virtual machine unreadable for vCenter: inaccessible (the default), invalid, orphaned or disconnected.
func (e *Events) Hide(id string, state types.VirtualMachineConnectionState) (sight.Disguise, error) {
	vm, err := e.vm(id)
	if err != nil {
		return sight.Disguise{}, err
	}
	d, err := sight.DisguiseFor(vm, state)
	if err != nil {
		return d, err
	}
	e.sight.Hide(vm.Self, d)
	return d, nil
}

// HideAs hides a virtual machine with the given disguise.
func (e *Events) HideAs(id string, d sight.Disguise) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	e.sight.Hide(vm.Self, d)
	return nil
}

// Show makes a hidden virtual machine readable again.
func (e *Events) Show(id string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	e.sight.Show(vm.Self)
	return nil
}

// Omit makes single properties of a virtual machine unreadable. Without properties all are readable.
func (e *Events) Omit(id string, paths ...string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	e.sight.Omit(vm.Self, paths...)
	return nil
}

// Permit leaves the account only these privileges on the object and its descendants. An empty list is the role No
// Access.
func (e *Events) Permit(at string, privileges ...string) error {
	entity, err := e.entity(at)
	if err != nil {
		return err
	}
	e.sight.Permit(e.account, entity.Reference(), privileges...)
	return nil
}

// Withhold removes single privileges of the account on the object and its descendants.
func (e *Events) Withhold(at string, privileges ...string) error {
	entity, err := e.entity(at)
	if err != nil {
		return err
	}
	if len(privileges) == 0 {
		return errors.New("privileges: at least one is needed")
	}
	e.sight.Withhold(e.account, entity.Reference(), privileges...)
	return nil
}

// Unpermit undoes Permit or Withhold on the object.
func (e *Events) Unpermit(at string) error {
	entity, err := e.entity(at)
	if err != nil {
		return err
	}
	e.sight.Unpermit(e.account, entity.Reference())
	return nil
}
