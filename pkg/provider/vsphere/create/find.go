// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// ConflictError means that a VM which belongs to somebody else is in the way.
type ConflictError struct {
	// Message for people.
	Message string
}

// Error implements error.
func (e *ConflictError) Error() string { return e.Message }

// Conflict says that the VM with the instance UUID is another object's. It does
// not say whose: who may read one namespace may not know of the others.
func Conflict(instanceUUID string) *ConflictError {
	return &ConflictError{Message: fmt.Sprintf("the vSphere VM with instance UUID %s belongs to another object", instanceUUID)}
}

// find asks vSphere itself, for the inventory may be a moment behind. A VM that
// is not ours is not published: what the inventory has is worked on.
func (c *Creator) find(ctx context.Context, want configspec.Want) (bool, error) {
	ref, whose, err := c.LookUp(ctx, inventory.Names{InstanceUUID: want.InstanceUUID}, want.Owner)
	switch {
	case err != nil || ref == nil:
		return false, err
	case whose == observe.Foreign:
		return false, Conflict(want.InstanceUUID)
	case whose == observe.Unowned:
		if err := c.adoptable(ctx, *ref, want.InstanceUUID); err != nil {
			return false, err
		}
	}
	published, err := c.Actor.Inventory.Refresh(ctx, *ref)
	return published != nil, err
}

// LookUp asks vSphere for the VM that is named, by managed object ID, by instance UUID
// and, if it was there once, by BIOS UUID, and whose it is, as the object of owner sees
// it. It publishes nothing; nil means that there is none. One that has the managed
// object ID and cannot be read is the object's: nothing says that it is not.
func (c *Creator) LookUp(ctx context.Context, n inventory.Names, owner observe.Owner) (*types.ManagedObjectReference, observe.Ownership, error) {
	if n.UniqueID != "" {
		ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: n.UniqueID}
		vm, err := c.read(ctx, ref, "name")
		switch {
		case vimfault.KindOf(err) == vimfault.Denied:
			return &ref, observe.Own, nil
		case err != nil:
			return nil, "", err
		case vm != nil && !observe.Readable(vm), vm != nil && observe.OwnershipOf(vm, owner) == observe.Own:
			return &ref, observe.Own, nil
		}
	}
	for _, by := range []struct {
		uuid     string
		instance bool
	}{{n.InstanceUUID, true}, {n.BiosUUID, false}} {
		if by.uuid == "" || !by.instance && n.UniqueID == "" {
			continue
		}
		ref, whose, err := c.byUUID(ctx, by.uuid, by.instance, owner)
		// A BIOS UUID is not unique: a VM that has it is the object's only if it says so.
		if err != nil || ref != nil && (by.instance || whose == observe.Own) {
			return ref, whose, err
		}
	}
	return nil, "", nil
}

func (c *Creator) byUUID(ctx context.Context, uuid string, instance bool, owner observe.Owner) (*types.ManagedObjectReference, observe.Ownership, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, "", err
	}
	found, err := object.NewSearchIndex(vim).FindByUuid(ctx, nil, uuid, true, &instance)
	if err != nil {
		return nil, "", fmt.Errorf("looking for UUID %s: %w", uuid, err)
	}
	if found == nil {
		return nil, "", nil
	}
	ref := found.Reference()
	vm, err := c.read(ctx, ref)
	if err != nil || vm == nil {
		return nil, "", err // It went in between.
	}
	return &ref, observe.OwnershipOf(vm, owner), nil
}

// read reads whose a VM is, and more; nil for one that is gone.
func (c *Creator) read(ctx context.Context, ref types.ManagedObjectReference, more ...string) (*mo.VirtualMachine, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	paths := append([]string{"config.changeVersion", "config.instanceUuid", "config.extraConfig"}, more...)
	err = property.DefaultCollector(vim).RetrieveOne(ctx, ref, paths, &vm)
	switch {
	case vimfault.Gone(err, ref):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading whose the vSphere VM %s is: %w", ref.Value, err)
	}
	vm.Self = ref
	return &vm, nil
}

// adoptable refuses to take over a VM outside of the managed folder: what is not
// there is none of ours to touch, and its changes are not in the stream.
func (c *Creator) adoptable(ctx context.Context, vm types.ManagedObjectReference, instanceUUID string) error {
	inside, path, err := c.Inside(ctx, vm)
	if err != nil || inside {
		return err
	}
	return &ConflictError{Message: fmt.Sprintf("the vSphere VM with instance UUID %s is not below the folder %s: move it there to take it over", instanceUUID, path)}
}

// Inside reports whether a VM is below the managed folder, and the path of that.
func (c *Creator) Inside(ctx context.Context, vm types.ManagedObjectReference) (inside bool, folderPath string, err error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return false, "", err
	}
	folder, path, err := c.Places.Folder(ctx)
	if err != nil {
		return false, "", err
	}
	above, err := mo.Ancestors(ctx, vim, vim.ServiceContent.PropertyCollector, vm)
	if err != nil {
		return false, "", fmt.Errorf("reading the folders above %s: %w", vm.Value, err)
	}
	for _, a := range above {
		if a.Self == folder {
			return true, path, nil
		}
	}
	return false, path, nil
}
