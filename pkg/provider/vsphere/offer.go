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

// CheckZone implements driver.Driver.
func (d *Driver) CheckZone(ctx context.Context, w *driver.Desired, zone string) provider.ZoneCheck {
	o := provider.ZoneCheck{Zone: zone}
	desired := *w
	desired.Identity.Zone = zone
	if w.Adopted {
		if o.HasVM, o.CheckErr = d.hasVM(ctx, &desired); o.HasVM || o.CheckErr != nil {
			return o
		}
	}
	resolver := d.resolver(zone)
	report := resolver.Check(ctx, &desired).Failures
	if w.Image == nil {
		delete(report, vmv1alpha1.ConditionImageReady) // The caller reports a missing image.
	}
	if setCheckResult(&o, errors.Join(report.Err(), resolver.CheckClaims(ctx, &desired))); o.Refusal != nil || o.CheckErr != nil {
		return o
	}
	amounts, err := resolver.Amounts(ctx)
	if err != nil {
		o.CheckErr = err
		return o
	}
	o.Capacity, o.Free, o.At = amounts.Capacity, amounts.Free, amounts.At
	notAllowed, _ := d.disallowedDevices(&desired)
	o.Refusal = errors.Join(driver.Refusals{NotAllowed: notAllowed}.Err(), checkFits(&desired, &amounts))
	if o.Refusal == nil && len(amounts.Clusters) > 0 {
		o.Rating, o.Refusal = resolver.Recommend(ctx, amounts.Clusters, d.placementSpec(&desired))
	}
	return o
}

// setCheckResult stores the error of a check in o: in Refusal if the zone cannot be used, otherwise in CheckErr.
func setCheckResult(o *provider.ZoneCheck, err error) {
	var notUsable *placement.NotUsableError
	switch {
	case err == nil:
	case errors.As(err, &notUsable):
		o.Refusal = err
	default:
		o.CheckErr = err
	}
}

// hasVM reports whether the VM with the object's instance UUID is in the zone.
func (d *Driver) hasVM(ctx context.Context, w *driver.Desired) (bool, error) {
	c := d.newCreator(w.Identity.Zone)
	found, err := c.LookUp(ctx, inventory.Identifiers{InstanceUUID: w.Identity.InstanceUUID}, ownerOf(w.Identity))
	if err != nil || found.VM == nil {
		return false, err
	}
	inside, _, err := c.IsInManagedFolder(ctx, *found.VM)
	return inside, err
}

// checkFits returns an error if the zone is too small for the virtual machine, so that vSphere would
// refuse it.
func checkFits(w *driver.Desired, amounts *placement.Amounts) error {
	var errs []error
	addProblem := func(format string, args ...any) {
		errs = append(errs, &placement.NotUsableError{Message: fmt.Sprintf(format, args...)})
	}
	if amounts.Hosts == 0 {
		addProblem("no host can currently run virtual machines")
		return errors.Join(errs...)
	}
	e := w.Effective
	if e == nil {
		return nil
	}
	if n := cpuCount(e); amounts.CPUs > 0 && n > int32(amounts.CPUs) {
		addProblem("%d vCPUs are requested; the largest host has %d logical processors", n, amounts.CPUs)
	}
	if e.Memory != nil && e.Memory.Guest != nil {
		memory, reserved := e.Memory.Guest.Value(), int64(0)
		if e.Memory.Reservation != nil {
			reserved = e.Memory.Reservation.Value()
		}
		if amounts.Memory > 0 && memory > amounts.Memory {
			addProblem("%s of memory is requested; the largest host has %s", formatSizes(memory, amounts.Memory)...)
		}
		if reserved > amounts.Reservable {
			addProblem("a reservation of %s of memory is requested; %s can be reserved", formatSizes(reserved, amounts.Reservable)...)
		}
		// The swap file is created at power on, on the datastore of the boot disk.
		switch swap, disk := memory-reserved, bootDiskSize(w); {
		case swap+disk <= amounts.Space:
		case disk > 0:
			addProblem("the swap file and the boot disk need %s on one datastore; at most %s are free", formatSizes(swap+disk, amounts.Space)...)
		default:
			addProblem("the swap file needs %s on one datastore; at most %s are free", formatSizes(swap, amounts.Space)...)
		}
	}
	return errors.Join(errs...)
}

// bootDiskSize returns the space in bytes that the boot disk allocates immediately. The space for other
// disks is checked when their datastores are chosen.
func bootDiskSize(w *driver.Desired) (n int64) {
	for _, need := range placement.NeedsOf(w) {
		if need.Home {
			n += need.Bytes
		}
	}
	return n
}

func cpuCount(e *vmv1alpha1.VirtualMachineInstanceSpec) int32 {
	if e.CPU == nil {
		return 1
	}
	n, _ := hardware.CPUs(e.CPU)
	return n
}

// formatSizes formats a needed and an available size. Both are in GiB if one of them is at least 10 GiB
// and the results differ, else both are in MiB.
func formatSizes(needed, available int64) []any {
	gibi := func(n int64) string {
		return strconv.FormatFloat(math.Round(float64(n)/(1<<30)*10)/10, 'f', -1, 64) + " GiB"
	}
	if max(needed, available) >= 10<<30 && gibi(needed) != gibi(available) {
		return []any{gibi(needed), gibi(available)}
	}
	return []any{fmt.Sprintf("%d MiB", needed>>20), fmt.Sprintf("%d MiB", available>>20)}
}

// placementSpec returns the configuration of a new virtual machine for a DRS recommendation. It contains
// what the documentation of PlacementSpec.configSpec requires, except disks: the zone chooses their
// datastore.
func (d *Driver) placementSpec(w *driver.Desired) *vimtypes.VirtualMachineConfigSpec {
	spec := &vimtypes.VirtualMachineConfigSpec{Name: w.Name, Files: &vimtypes.VirtualMachineFileInfo{}}
	if e := w.Effective; e != nil {
		spec.NumCPUs = cpuCount(e)
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
