// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// Offer implements driver.Driver.
func (d *Driver) Offer(ctx context.Context, w *driver.Want, zone string) provider.Offer {
	o := provider.Offer{Zone: zone}
	there := *w
	there.Identity.Zone = zone
	if w.Adopted {
		if o.Has, o.Unknown = d.has(ctx, &there); o.Has || o.Unknown != nil {
			return o
		}
	}
	places := d.places(zone)
	report := places.Check(ctx, &there).Failures
	if w.Image == nil {
		delete(report, vmv1alpha1.ConditionImageReady) // Whether it exists is for others to say.
	}
	if sortOffer(&o, errors.Join(report.Err(), places.Claims(ctx, &there))); o.Lacks != nil || o.Unknown != nil {
		return o
	}
	has, err := places.Amounts(ctx)
	if err != nil {
		o.Unknown = err
		return o
	}
	o.Capacity, o.Free, o.At = has.Capacity, has.Free, has.At
	notAllowed, _ := d.notAllowed(&there)
	o.Lacks = errors.Join(driver.Refusals{NotAllowed: notAllowed}.Err(), fits(&there, &has))
	if o.Lacks == nil && len(has.Clusters) > 0 {
		o.Rating, o.Lacks = places.Recommend(ctx, has.Clusters, d.sketch(&there))
	}
	return o
}

// sortOffer says what an error of a check means for an offer.
func sortOffer(o *provider.Offer, err error) {
	var unusable *placement.NotUsableError
	switch {
	case err == nil:
	case errors.As(err, &unusable):
		o.Lacks = err
	default:
		o.Unknown = err
	}
}

// has is true if the VM that the object names is in the zone.
func (d *Driver) has(ctx context.Context, w *driver.Want) (bool, error) {
	c := d.creator(w.Identity.Zone)
	seen, err := c.LookUp(ctx, inventory.Names{InstanceUUID: w.Identity.InstanceUUID}, ownerOf(w.Identity))
	if err != nil || seen.VM == nil {
		return false, err
	}
	inside, _, err := c.Inside(ctx, *seen.VM)
	return inside, err
}

// fits is why a zone is too small for what is asked for: what vSphere would refuse.
func fits(w *driver.Want, has *placement.Amounts) error {
	var errs []error
	lacks := func(format string, args ...any) {
		errs = append(errs, &placement.NotUsableError{Message: fmt.Sprintf(format, args...)})
	}
	if has.Hosts == 0 {
		lacks("no host can run virtual machines now")
		return errors.Join(errs...)
	}
	e := w.Effective
	if e == nil {
		return nil
	}
	if n := vcpus(e); has.CPUs > 0 && n > int32(has.CPUs) {
		lacks("%d vCPUs are asked for, and its largest host has %d logical processors", n, has.CPUs)
	}
	if e.Memory != nil && e.Memory.Guest != nil {
		memory, reserved := e.Memory.Guest.Value(), int64(0)
		if e.Memory.Reservation != nil {
			reserved = e.Memory.Reservation.Value()
		}
		if has.Memory > 0 && memory > has.Memory {
			lacks("%s of memory are asked for, and its largest host has %s", bytes(memory, has.Memory)...)
		}
		if reserved > has.Reservable {
			lacks("%s of memory are to be reserved, and %s can be", bytes(reserved, has.Reservable)...)
		}
		// The swap file is made at power on, beside the boot disk.
		switch swap, disk := memory-reserved, bootDisk(w); {
		case swap+disk <= has.Space:
		case disk > 0:
			lacks("%s are needed for its swap file and its boot disk, and %s are free on one datastore", bytes(swap+disk, has.Space)...)
		default:
			lacks("%s are needed for its swap file, and %s are free on one datastore", bytes(swap, has.Space)...)
		}
	}
	return errors.Join(errs...)
}

// bootDisk is the space that it takes at once. That of other disks is counted where their
// datastores are chosen.
func bootDisk(w *driver.Want) (n int64) {
	for _, need := range placement.NeedsOf(w) {
		if need.Home {
			n += need.Bytes
		}
	}
	return n
}

func vcpus(e *vmv1alpha1.VirtualMachineInstanceSpec) int32 {
	if e.CPU == nil {
		return 1
	}
	n, _ := hardware.CPUs(e.CPU)
	return n
}

// bytes are what is needed and what there is, for people: both in GiB if one is large and they
// differ there, else both in MiB.
func bytes(needed, has int64) []any {
	gibi := func(n int64) string {
		return strconv.FormatFloat(math.Round(float64(n)/(1<<30)*10)/10, 'f', -1, 64) + " GiB"
	}
	if max(needed, has) >= 10<<30 && gibi(needed) != gibi(has) {
		return []any{gibi(needed), gibi(has)}
	}
	return []any{fmt.Sprintf("%d MiB", needed>>20), fmt.Sprintf("%d MiB", has>>20)}
}

// sketch is what DRS is told of a new virtual machine: what the documentation of
// PlacementSpec.configSpec expects, but for the disks, whose datastore is chosen by the zone.
func (d *Driver) sketch(w *driver.Want) *vimtypes.VirtualMachineConfigSpec {
	spec := &vimtypes.VirtualMachineConfigSpec{Name: w.Name, Files: &vimtypes.VirtualMachineFileInfo{}}
	if e := w.Effective; e != nil {
		spec.NumCPUs = vcpus(e)
		if e.Memory != nil && e.Memory.Guest != nil {
			spec.MemoryMB = e.Memory.Guest.Value() >> 20
			if r := e.Memory.Reservation; r != nil {
				reserved := r.Value() >> 20
				spec.MemoryAllocation = &vimtypes.ResourceAllocationInfo{Reservation: &reserved}
			}
		}
	}
	return spec
}
