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
	seen, err := c.LookUp(ctx, inventory.Names{InstanceUUID: want.Identity.InstanceUUID}, want.Owner())
	switch {
	case err != nil || seen.VM == nil:
		return false, err
	case seen.Whose == driver.Foreign:
		return false, Conflict(want.Identity.InstanceUUID)
	case seen.Whose == driver.Unowned:
		if err := c.adoptable(ctx, *seen.VM, want.Identity.InstanceUUID); err != nil {
			return false, err
		}
	}
	published, err := c.Actor.Inventory.Refresh(ctx, *seen.VM)
	return published != nil, err
}

// Seen is what vSphere shows of the VM of an object.
type Seen struct {
	// VM is the object's, nil for none, and Whose says so.
	VM    *types.ManagedObjectReference
	Whose driver.Ownership
	// Copies have the UUIDs or the owner key of a VM that is not shown under its managed object
	// ID: each may be that VM or a copy of it.
	Copies []types.ManagedObjectReference
}

// LookUp asks vSphere for the VM that is named and whose it is, as the object of owner sees
// it. A VM that has a managed object ID is found by that alone: those with its instance UUID,
// or its BIOS UUID and its owner key, are copies. It publishes nothing. A VM that has the
// managed object ID and cannot be read is the object's: nothing says that it is not.
func (c *Creator) LookUp(ctx context.Context, n inventory.Names, owner observe.Owner) (Seen, error) {
	if n.UniqueID == "" {
		return c.byInstanceUUID(ctx, n.InstanceUUID, owner)
	}
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: n.UniqueID}
	vm, err := c.read(ctx, ref, "name")
	switch {
	case vimfault.KindOf(err) == vimfault.Denied:
		return Seen{VM: &ref, Whose: driver.Own}, nil
	case err != nil:
		return Seen{}, err
	case vm != nil && !observe.Readable(vm), vm != nil && observe.OwnershipOf(vm, owner) == driver.Own:
		return Seen{VM: &ref, Whose: driver.Own}, nil
	}
	copies, err := c.Copies(ctx, n, owner)
	return Seen{Copies: copies}, err
}

// byInstanceUUID finds the VM of an object that has had none. One VM in a vCenter has an
// instance UUID.
func (c *Creator) byInstanceUUID(ctx context.Context, uuid string, owner observe.Owner) (Seen, error) {
	found, err := c.byUUID(ctx, uuid, true, owner)
	switch {
	case err != nil || len(found) == 0:
		return Seen{}, err
	case len(found) > 1:
		return Seen{}, fmt.Errorf("%d vSphere VMs have the instance UUID %s", len(found), uuid)
	}
	return found[0], nil
}

// Copies finds the VMs with the UUIDs of an object, but for those of other objects and the one
// with the managed object ID. A BIOS UUID is not unique: a VM that has it counts only if its
// owner key names the object.
func (c *Creator) Copies(ctx context.Context, n inventory.Names, owner observe.Owner) (copies []types.ManagedObjectReference, err error) {
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
			ours := f.Whose == driver.Own || by.instance && f.Whose == driver.Unowned
			if ours && f.VM.Value != n.UniqueID && !slices.Contains(copies, *f.VM) {
				copies = append(copies, *f.VM)
			}
		}
	}
	return copies, nil
}

// byUUID finds all VMs that have a UUID.
func (c *Creator) byUUID(ctx context.Context, uuid string, instance bool, owner observe.Owner) ([]Seen, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := object.NewSearchIndex(vim).FindAllByUuid(ctx, nil, uuid, true, &instance)
	if err != nil {
		return nil, fmt.Errorf("looking for UUID %s: %w", uuid, err)
	}
	var found []Seen
	for _, r := range refs {
		ref := r.Reference()
		vm, err := c.read(ctx, ref)
		if err != nil {
			return nil, err
		}
		if vm != nil { // else it went in between
			found = append(found, Seen{VM: &ref, Whose: observe.OwnershipOf(vm, owner)})
		}
	}
	return found, nil
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
