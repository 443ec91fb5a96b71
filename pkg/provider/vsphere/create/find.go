// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// ConflictError is returned if a VM of another owner blocks the operation.
type ConflictError struct {
	// Message describes the conflict.
	Message string
}

// Error implements error.
func (e *ConflictError) Error() string { return e.Message }

// Conflict returns the error for a VM with the instance UUID that belongs to another object. The message does not
// name that object, because the user may not be allowed to see other namespaces.
func Conflict(instanceUUID string) *ConflictError {
	return &ConflictError{Message: fmt.Sprintf("the vSphere VM with instance UUID %s belongs to another object", instanceUUID)}
}

// find searches for the VM in vSphere, because the inventory cache may be outdated. It does not add another owner's
// VM to the inventory, because all VMs in the inventory are reconciled.
func (c *Creator) find(ctx context.Context, want configspec.Desired) (bool, error) {
	seen, err := c.LookUp(ctx, inventory.Identifiers{InstanceUUID: want.Identity.InstanceUUID}, want.Owner())
	switch {
	case err != nil || seen.VM == nil:
		return false, err
	case seen.Ownership == driver.Foreign:
		return false, Conflict(want.Identity.InstanceUUID)
	case seen.Ownership == driver.Unowned:
		if err := c.adoptable(ctx, *seen.VM, want.Identity.InstanceUUID); err != nil {
			return false, err
		}
	}
	published, err := c.Actor.Inventory.Refresh(ctx, *seen.VM)
	return published != nil, err
}

// ObservedVM is the state of an object's VM in vSphere.
type ObservedVM struct {
	// VM is the object's VM, nil if there is none. Ownership is its owner.
	VM        *types.ManagedObjectReference
	Ownership driver.Ownership
	// Copies are VMs that have the UUIDs or the owner key of a VM whose managed object ID is not found. Each of
	// them may be that VM or a copy of it.
	Copies []types.ManagedObjectReference
}

// LookUp searches for the named VM in vSphere and returns its owner, from the view of the object of owner. It does
// not change the inventory.
//
// A VM with a known managed object ID is searched by that ID only. VMs with its instance UUID, or with its BIOS
// UUID and owner key, are copies. A VM that has the managed object ID but cannot be read is assumed to be the
// object's.
func (c *Creator) LookUp(ctx context.Context, n inventory.Identifiers, owner observe.Owner) (ObservedVM, error) {
	if n.UniqueID == "" {
		return c.byInstanceUUID(ctx, n.InstanceUUID, owner)
	}
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: n.UniqueID}
	vm, err := c.read(ctx, ref, "name")
	switch {
	case vimfault.KindOf(err) == vimfault.Denied:
		return ObservedVM{VM: &ref, Ownership: driver.Own}, nil
	case err != nil:
		return ObservedVM{}, err
	case vm != nil && !observe.IsReadable(vm), vm != nil && observe.OwnershipOf(vm, owner) == driver.Own:
		return ObservedVM{VM: &ref, Ownership: driver.Own}, nil
	}
	copies, err := c.Copies(ctx, n, owner)
	return ObservedVM{Copies: copies}, err
}

// byInstanceUUID finds the VM of an object that has no unique ID yet. An instance UUID is unique in a vCenter.
func (c *Creator) byInstanceUUID(ctx context.Context, uuid string, owner observe.Owner) (ObservedVM, error) {
	found, err := c.byUUID(ctx, uuid, true, owner)
	switch {
	case err != nil || len(found) == 0:
		return ObservedVM{}, err
	case len(found) > 1:
		return ObservedVM{}, fmt.Errorf("%d vSphere VMs have the instance UUID %s", len(found), uuid)
	}
	return found[0], nil
}

// Copies finds VMs that have the UUIDs of an object. It omits VMs of other objects and the VM with the managed
// object ID. A BIOS UUID is not unique: a VM with that UUID counts only if its owner key names the object.
func (c *Creator) Copies(ctx context.Context, n inventory.Identifiers, owner observe.Owner) (copies []types.ManagedObjectReference, err error) {
	for _, by := range []struct {
		uuid     string
		instance bool
	}{{n.InstanceUUID, true}, {n.BiosUUID, false}} {
		if by.uuid == "" {
			continue
		}
		found, err := c.byUUID(ctx, by.uuid, by.instance, owner)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			ours := f.Ownership == driver.Own || by.instance && f.Ownership == driver.Unowned
			if ours && f.VM.Value != n.UniqueID && !slices.Contains(copies, *f.VM) {
				copies = append(copies, *f.VM)
			}
		}
	}
	return copies, nil
}

// byUUID finds all VMs that have a UUID.
func (c *Creator) byUUID(ctx context.Context, uuid string, instance bool, owner observe.Owner) ([]ObservedVM, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := object.NewSearchIndex(vim).FindAllByUuid(ctx, nil, uuid, true, &instance)
	if err != nil {
		return nil, fmt.Errorf("searching for UUID %s: %w", uuid, err)
	}
	var found []ObservedVM
	for _, r := range refs {
		ref := r.Reference()
		vm, err := c.read(ctx, ref)
		if err != nil {
			return nil, err
		}
		if vm != nil { // Otherwise it was deleted in the meantime.
			found = append(found, ObservedVM{VM: &ref, Ownership: observe.OwnershipOf(vm, owner)})
		}
	}
	return found, nil
}

// read reads a VM's owner keys and the properties in more. It returns nil if the VM does not exist.
func (c *Creator) read(ctx context.Context, ref types.ManagedObjectReference, more ...string) (*mo.VirtualMachine, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	paths := append([]string{"config.changeVersion", "config.instanceUuid", "config.extraConfig"}, more...)
	err = property.DefaultCollector(vim).RetrieveOne(ctx, ref, paths, &vm)
	switch {
	case vimfault.IsNotFound(err, ref):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the owner of the vSphere VM %s: %w", ref.Value, err)
	}
	vm.Self = ref
	return &vm, nil
}

// adoptable returns an error if a VM is outside of the managed folder. Such a VM is not managed, and its changes
// are not part of the event stream.
func (c *Creator) adoptable(ctx context.Context, vm types.ManagedObjectReference, instanceUUID string) error {
	inside, path, err := c.IsInManagedFolder(ctx, vm)
	if err != nil || inside {
		return err
	}
	return &ConflictError{Message: fmt.Sprintf("the vSphere VM with instance UUID %s is not below the folder %s: move it to that folder to adopt it", instanceUUID, path)}
}

// IsInManagedFolder reports whether a VM is below the managed folder, and returns the folder's path.
func (c *Creator) IsInManagedFolder(ctx context.Context, vm types.ManagedObjectReference) (inside bool, folderPath string, err error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return false, "", err
	}
	folder, path, err := c.Placement.Folder(ctx)
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
