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
func (d *Driver) Search(ctx context.Context, id driver.Identity) (driver.Finding, error) {
	seen, err := d.creator(id.Zone).LookUp(ctx, namesOf(id), ownerOf(id))
	switch {
	case err != nil:
		return "", err
	case seen.VM == nil:
		return d.notShown(ctx, id, seen.Copies)
	case seen.Whose != driver.Own:
		return driver.NotFound, nil // It is none of ours: what memory has is worked on.
	}
	vm, err := d.inventory.Refresh(ctx, *seen.VM)
	if vimfault.KindOf(err) == vimfault.Denied {
		// Who may not read it knows that it is there, and nothing else.
		d.inventory.Unreadable(*seen.VM)
		return driver.Found, nil
	}
	if err != nil || vm != nil {
		return driver.Found, err
	}
	return driver.NotFound, nil
}

// notShown decides what it means that vCenter does not show a VM under its managed object ID.
// A copy becomes the VM if an administrator has confirmed it, or if it lies where the VM was
// and the VM is known to be destroyed or unregistered.
func (d *Driver) notShown(ctx context.Context, id driver.Identity, copies []vimtypes.ManagedObjectReference) (driver.Finding, error) {
	if id.UniqueID == "" {
		return driver.NotFound, d.checkMaking(ctx, id)
	}
	for _, ref := range copies {
		if _, err := d.inventory.Refresh(ctx, ref); err != nil {
			return "", err
		}
	}
	if id.Confirmed != "" && d.inventory.Find(namesOf(id)).State == inventory.Exists {
		return driver.Found, nil
	}
	back, err := d.back(ctx, id, copies)
	if err != nil || back == nil && !id.NeedsEnd {
		return driver.NotFound, err
	}
	end, err := d.creator(id.Zone).Ended(ctx, id.UniqueID, missedAt(id))
	switch {
	case err != nil:
		return "", err
	case back != nil && end != "":
		d.inventory.Succeed(id.UniqueID, *back)
		return driver.Found, nil
	case end == create.Destroyed:
		return driver.Destroyed, nil
	}
	return driver.NotFound, nil
}

// back is the copy in the managed folder that is at the datastore path at which the VM was
// shown last, nil for none.
func (d *Driver) back(ctx context.Context, id driver.Identity, copies []vimtypes.ManagedObjectReference) (*vimtypes.ManagedObjectReference, error) {
	i := slices.IndexFunc(copies, func(ref vimtypes.ManagedObjectReference) bool { return d.inventory.SamePath(id.UniqueID, ref) })
	if i < 0 {
		return nil, nil
	}
	inside, _, err := d.creator(id.Zone).Inside(ctx, copies[i])
	if err != nil || !inside {
		return nil, err
	}
	return &copies[i], nil
}

// missedAt is when the end of a VM may have come at the latest.
func missedAt(id driver.Identity) time.Time {
	at := time.Now()
	for _, t := range []time.Time{id.MissingSince, id.DeletedAt} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// checkMaking returns an error while vCenter may still make the VM of a deleted object, which
// an earlier process has asked for.
func (d *Driver) checkMaking(ctx context.Context, id driver.Identity) error {
	if !id.Attempted {
		return nil
	}
	task, err := d.creator(id.Zone).Making(ctx, id.DeletedAt)
	if err == nil && task != "" {
		err = &vimfault.BusyError{Message: "vSphere still works on task " + task + ", which may make the VM: an earlier process began it"}
	}
	return err
}

// Shows is the managed object ID of a VM of this vCenter that has the identity of an object
// whose VM is in another vCenter; empty for none. A migration between vCenters keeps the UUIDs and the
// settings of a VM.
func (d *Driver) Shows(ctx context.Context, id driver.Identity) (string, error) {
	names := namesOf(id)
	names.UniqueID = "" // Another VM may have it here.
	copies, err := d.creator("").Copies(ctx, names, ownerOf(id))
	if err != nil || len(copies) == 0 {
		return "", err
	}
	return copies[0].Value, nil
}

// described names VMs for people.
func described(vms []*mo.VirtualMachine) (out []string) {
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

// removeLeftovers removes what attempts to create the VM have left, unless it is there.
func (d *Driver) removeLeftovers(ctx context.Context, id driver.Identity) error {
	c := d.creator(id.Zone)
	seen, err := c.LookUp(ctx, namesOf(id), ownerOf(id))
	if err != nil || seen.VM != nil || len(seen.Copies) > 0 {
		return err
	}
	return c.RemoveLeftovers(ctx, id.UID, "")
}
