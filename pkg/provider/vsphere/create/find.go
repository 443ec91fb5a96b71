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
	ref, whose, err := c.LookUp(ctx, want.InstanceUUID, want.Owner)
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

// LookUp asks vSphere for the VM with the instance UUID and whose it is, as the
// object of owner sees it. It publishes nothing; nil means that there is none.
func (c *Creator) LookUp(ctx context.Context, instanceUUID string, owner observe.Owner) (*types.ManagedObjectReference, observe.Ownership, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return nil, "", err
	}
	byInstance := true
	found, err := object.NewSearchIndex(vim).FindByUuid(ctx, nil, instanceUUID, true, &byInstance)
	if err != nil {
		return nil, "", fmt.Errorf("looking for instance UUID %s: %w", instanceUUID, err)
	}
	if found == nil {
		return nil, "", nil
	}
	ref := found.Reference()
	var vm mo.VirtualMachine
	err = property.DefaultCollector(vim).RetrieveOne(ctx, ref, []string{"config.instanceUuid", "config.extraConfig"}, &vm)
	switch {
	case vimfault.KindOf(err) == vimfault.NotFound:
		return nil, "", nil // It went in between.
	case err != nil:
		return nil, "", fmt.Errorf("reading whose the vSphere VM %s is: %w", ref.Value, err)
	}
	return &ref, observe.OwnershipOf(&vm, owner), nil
}

// adoptable refuses to take over a VM outside of the managed folder: what is not
// there is none of ours to touch, and its changes are not in the stream.
func (c *Creator) adoptable(ctx context.Context, vm types.ManagedObjectReference, instanceUUID string) error {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return err
	}
	folder, path, err := c.Places.Folder(ctx)
	if err != nil {
		return err
	}
	above, err := mo.Ancestors(ctx, vim, vim.ServiceContent.PropertyCollector, vm)
	if err != nil {
		return fmt.Errorf("reading the folders above %s: %w", vm.Value, err)
	}
	for _, a := range above {
		if a.Self == folder {
			return nil
		}
	}
	return &ConflictError{Message: fmt.Sprintf("the vSphere VM with instance UUID %s is not below the folder %s: move it there to take it over", instanceUUID, path)}
}
