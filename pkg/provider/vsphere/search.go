// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Search implements driver.Driver.
func (d *Driver) Search(ctx context.Context, id driver.Identity) (driver.SearchResult, error) {
	found, err := d.newCreator(id.Zone).LookUp(ctx, namesOf(id), ownerOf(id))
	switch {
	case err != nil:
		return "", err
	case found.VM == nil:
		return d.searchMissing(ctx, id, found.Copies)
	case found.Ownership != driver.Own:
		return driver.NotFound, nil // The object does not own the VM, so the inventory is used.
	}
	vm, err := d.inventory.Refresh(ctx, *found.VM)
	if vimfault.KindOf(err) == vimfault.Denied {
		// The VM exists, but the account may not read it.
		d.inventory.StoreUnreadable(*found.VM)
		return driver.Found, nil
	}
	if err != nil || vm != nil {
		return driver.Found, err
	}
	return driver.NotFound, nil
}

// searchMissing returns the result of a search if vCenter does not show a VM with the managed object ID.
// A copy becomes the VM if an administrator has confirmed it. It also becomes the VM if it is at
// the VM's datastore path and the VM was destroyed or unregistered.
func (d *Driver) searchMissing(ctx context.Context, id driver.Identity, copies []vimtypes.ManagedObjectReference) (driver.SearchResult, error) {
	if id.UniqueID == "" {
		return driver.NotFound, d.checkPendingCreate(ctx, id)
	}
	for _, ref := range copies {
		if _, err := d.inventory.Refresh(ctx, ref); err != nil {
			return "", err
		}
	}
	if id.ConfirmedNewID != "" && d.inventory.Find(namesOf(id)).State == inventory.Exists {
		return driver.Found, nil
	}
	returned, err := d.returnedCopy(ctx, id, copies)
	if err != nil || returned == nil && !id.NeedsDestroyedCheck {
		return driver.NotFound, err
	}
	end, err := d.newCreator(id.Zone).FindRemoval(ctx, id.UniqueID, latestEnd(id))
	switch {
	case err != nil:
		return "", err
	case returned != nil && end != "":
		d.inventory.SetSuccessor(id.UniqueID, *returned)
		return driver.Found, nil
	case end == create.Destroyed:
		return driver.Destroyed, nil
	}
	return driver.NotFound, nil
}

// returnedCopy returns the copy in the managed folder that is at the VM's last known datastore path, or
// nil.
func (d *Driver) returnedCopy(ctx context.Context, id driver.Identity, copies []vimtypes.ManagedObjectReference) (*vimtypes.ManagedObjectReference, error) {
	i := slices.IndexFunc(copies, func(ref vimtypes.ManagedObjectReference) bool { return d.inventory.SamePath(id.UniqueID, ref) })
	if i < 0 {
		return nil, nil
	}
	inside, _, err := d.newCreator(id.Zone).IsInManagedFolder(ctx, copies[i])
	if err != nil || !inside {
		return nil, err
	}
	return &copies[i], nil
}

// latestEnd returns the latest time at which the VM can have been destroyed or unregistered.
func latestEnd(id driver.Identity) time.Time {
	at := time.Now()
	for _, t := range []time.Time{id.MissingSince, id.DeletedAt} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// checkPendingCreate returns an error while vCenter may still create the VM of a deleted object because of
// a request of an earlier process.
func (d *Driver) checkPendingCreate(ctx context.Context, id driver.Identity) error {
	if !id.MayHaveStartedCreate {
		return nil
	}
	task, err := d.newCreator(id.Zone).FindCreateTask(ctx, id.DeletedAt)
	if err == nil && task != "" {
		err = &vimfault.BusyError{Message: "task " + task + " of an earlier process is still running in vSphere and may create the VM"}
	}
	return err
}

// FindMigrated returns the managed object ID of a VM of this vCenter that has the identity of an object
// whose VM is in another vCenter, or an empty string. A migration between vCenters keeps the UUIDs
// and the settings of a VM.
func (d *Driver) FindMigrated(ctx context.Context, id driver.Identity) (string, error) {
	names := namesOf(id)
	names.UniqueID = "" // In this vCenter the ID may belong to another VM.
	copies, err := d.newCreator("").Copies(ctx, names, ownerOf(id))
	if err != nil || len(copies) == 0 {
		return "", err
	}
	return copies[0].Value, nil
}

// describeVMs returns a description of each VM for messages.
func describeVMs(vms []*mo.VirtualMachine) (out []string) {
	for _, vm := range vms {
		text := fmt.Sprintf("%s (%q", vm.Self.Value, vm.Name)
		if vm.Config != nil && vm.Config.Files.VmPathName != "" {
			text += " at " + vm.Config.Files.VmPathName
		}
		out = append(out, text+")")
	}
	return out
}

// RemoveLeftovers implements driver.Driver.
func (d *Driver) RemoveLeftovers(id driver.Identity) driver.Operation {
	return driver.Operation{Kind: driver.KindDelete, Detail: "leftovers", Run: func(ctx context.Context) error {
		return d.removeLeftovers(ctx, id)
	}}
}

// removeLeftovers removes the files that attempts to create the VM have left. It does nothing if
// the VM exists.
func (d *Driver) removeLeftovers(ctx context.Context, id driver.Identity) error {
	c := d.newCreator(id.Zone)
	seen, err := c.LookUp(ctx, namesOf(id), ownerOf(id))
	if err != nil || seen.VM != nil || len(seen.Copies) > 0 {
		return err
	}
	return c.RemoveLeftovers(ctx, id.UID, "")
}
