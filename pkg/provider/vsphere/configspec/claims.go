// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// ClaimChange is a request to vCenter's volume service for a first class disk. Exactly one of Attach, Detach and
// Extend is set.
type ClaimChange struct {
	// ID is the disk's ID.
	ID string
	// Attach is the position and mode for attaching the disk.
	Attach *ClaimDiskSlot
	// Detach detaches the disk from the VM. The disk is not changed.
	Detach bool
	// Extend is the new size in mebibytes.
	Extend int64
}

// ClaimDiskSlot is the position and mode of an attached first class disk.
type ClaimDiskSlot struct {
	// Kind and Bus identify the controller. It must exist before the disk is attached.
	Kind string
	Bus  int32
	// Unit is the unit number on the controller.
	Unit int32
	// Shared allows several VMs to write to the disk.
	Shared bool
}

// readOnlyMode is the mode of read-only disks. vSphere cannot prevent the guest from writing. In this mode it
// discards the writes when the VM is powered off (vSphere API, VirtualDiskMode).
const readOnlyMode = string(types.VirtualDiskModeIndependent_nonpersistent)

// compareClaims compares the disks of claims. A disk is identified by its ID at any position. A new VM gets these
// disks after it was created, because another service attaches them.
func compareClaims(in *input, slots map[string]slot) []Difference {
	if in.New {
		return nil
	}
	var out []Difference
	attached, recorded := observe.FirstClass(in.vm), observe.Claims(in.vm)
	current := map[string]bool{}
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, known := in.Claims[v.Name]
		if !known || claim.VolumeID == "" {
			current[recorded[v.Name]] = true // It is not known whether the claim has another disk.
			continue
		}
		current[claim.VolumeID] = true
		other := recorded[v.Name] != "" && recorded[v.Name] != claim.VolumeID && attached[recorded[v.Name]] != nil
		switch disk := attached[claim.VolumeID]; {
		case disk != nil:
			out = append(out, compareClaim(in, v, claim, disk)...)
		case claim.WaitingReason == "" && !other:
			if s, ok := slots[v.Name]; ok { // Refused reports a missing slot.
				out = append(out, attachClaim(in, v, claim, s))
				delete(recorded, v.Name) // attachClaim records the new disk.
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if id := recorded[name]; !current[id] {
			out = append(out, detachClaim(in, name, id, attached[id]))
		}
	}
	return out
}

// isUnplacedClaim reports whether the volume's claim has a disk that is not attached yet.
func isUnplacedClaim(in *input, v *vmv1alpha1.VirtualMachineVolume) bool {
	if v.PersistentVolumeClaim == nil || in.New {
		return false
	}
	id := in.Claims[v.Name].VolumeID
	return id != "" && observe.FirstClass(in.vm)[id] == nil
}

// attachClaim records the disk, adds a controller if necessary, and attaches the disk.
func attachClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, claim provider.ClaimDisk, s slot) Difference {
	return Difference{
		Path: hardware.VolumePath(v.Name), Desired: hardware.PrintClaim(v.PersistentVolumeClaim.ClaimName),
		Live: canHotplug(in, s.controller),
		set: func(spec *types.VirtualMachineConfigSpec) {
			addController(in.vm, s, spec)
			option(observe.ClaimKey(v.Name), claim.VolumeID)(spec)
		},
		claim: &ClaimChange{ID: claim.VolumeID, Attach: &ClaimDiskSlot{
			Kind: s.controller.Kind, Bus: s.controller.Bus, Unit: s.unit, Shared: claim.Shared,
		}},
	}
}

// compareClaim compares the record, mode and size of an attached disk.
func compareClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, claim provider.ClaimDisk, disk *types.VirtualDisk) []Difference {
	var out []Difference
	path := hardware.VolumePath(v.Name)
	if in.extra(observe.ClaimKey(v.Name)) != claim.VolumeID {
		// The disk was attached by an administrator, or by a process that stopped before recording it. From now on,
		// it is detached when the volume is removed.
		out = append(out, Difference{Path: path, Running: "a disk that is not recorded", Desired: hardware.PrintClaim(v.PersistentVolumeClaim.ClaimName), Live: true,
			set: option(observe.ClaimKey(v.Name), claim.VolumeID)})
	}
	b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if ok && (b.DiskMode == readOnlyMode) != claim.ReadOnly {
		out = append(out, Difference{Path: path + ".persistentVolumeClaim.readOnly", Running: hardware.FormatFlag(!claim.ReadOnly), Desired: hardware.FormatFlag(claim.ReadOnly),
			set: editMode(disk, b, claim)})
	}
	kind := controllerOf(observe.Controllers(in.vm), disk).Kind
	if have := observe.Capacity(disk); claim.Size > have {
		mib := (claim.Size + 1<<20 - 1) >> 20
		out = append(out, Difference{Path: path, Running: hardware.FormatDisk(have, kind), Desired: hardware.FormatDisk(mib<<20, kind), Live: hardware.CanGrowDisk(kind),
			set: func(*types.VirtualMachineConfigSpec) {}, claim: &ClaimChange{ID: claim.VolumeID, Extend: mib}})
	}
	return out
}

// editMode sets the disk mode that matches the claim.
func editMode(disk *types.VirtualDisk, b *types.VirtualDiskFlatVer2BackingInfo, claim provider.ClaimDisk) func(*types.VirtualMachineConfigSpec) {
	mode := string(types.VirtualDiskModePersistent)
	switch {
	case claim.ReadOnly:
		mode = readOnlyMode
	case claim.Shared:
		mode = string(types.VirtualDiskModeIndependent_persistent)
	}
	return func(spec *types.VirtualMachineConfigSpec) {
		backing := *b
		backing.DiskMode = mode
		editOf(spec, disk).Device.GetVirtualDevice().Backing = &backing
	}
}

// detachClaim detaches the disk of a volume that is no longer in the spec. After that it removes the record.
func detachClaim(in *input, name, id string, disk *types.VirtualDisk) Difference {
	d := Difference{Path: hardware.VolumePath(name), Running: "disk " + id, Live: true, set: option(observe.ClaimKey(name), "")}
	if disk != nil {
		d.Live = canHotplug(in, controllerOf(observe.Controllers(in.vm), disk))
		d.set, d.claim = func(*types.VirtualMachineConfigSpec) {}, &ClaimChange{ID: id, Detach: true}
	}
	return d
}

// refuseClaim reports why a volume with a claim cannot be attached, and returns whether there is a reason.
func refuseClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, reportf func(format string, args ...any)) bool {
	path, claim := hardware.VolumePath(v.Name), in.Claims[v.Name]
	switch {
	case busOf(v) == "ide":
		reportf("%s.bus: the disk of a claim cannot be attached to ide; allowed: pvscsi, lsilogic, lsilogicsas, sata, nvme", path)
	case !in.PlacesClaims && busOf(v) != "pvscsi":
		reportf("%s.bus: a vCenter older than %s attaches claims' disks only to pvscsi controllers", path, ChooseDiskSlotSince)
	case !in.PlacesClaims && (v.ControllerBusNumber != nil || v.UnitNumber != nil):
		reportf("%s: a vCenter older than %s chooses the position of a claim's disk: leave controllerBusNumber and unitNumber unset", path, ChooseDiskSlotSince)
	case !in.PlacesClaims && claim.Shared:
		reportf("%s.persistentVolumeClaim: a vCenter older than %s attaches a claim's disk to one virtual machine at a time, but the claim is ReadWriteMany", path, ChooseDiskSlotSince)
	default:
		return false
	}
	return true
}

// ChooseDiskSlotSince is the first vCenter API version whose volume service accepts a disk position and supports
// disks that several VMs share (vmware/govmomi#3804; kubernetes-sigs/vsphere-csi-driver#3783 for the version).
const ChooseDiskSlotSince = "9.1"

// ClaimChanges returns the volume service requests of the differences, detachments first.
func ClaimChanges(diffs []Difference) []ClaimChange {
	var out []ClaimChange
	for _, detach := range []bool{true, false} {
		for _, d := range diffs {
			if d.claim != nil && d.claim.Detach == detach {
				out = append(out, *d.claim)
			}
		}
	}
	return out
}
