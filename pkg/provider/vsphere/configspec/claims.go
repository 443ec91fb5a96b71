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

// ClaimChange is what has to be asked of vCenter's volume service, for a first class disk.
// Exactly one of Attach, Detach and Extend says what.
type ClaimChange struct {
	// ID of the disk.
	ID string
	// Attach says where to and how.
	Attach *ClaimPlace
	// Detach takes it off the VM and leaves it as it is.
	Detach bool
	// Extend is the size that it gets, in mebibytes.
	Extend int64
}

// ClaimPlace is where and how a first class disk is attached.
type ClaimPlace struct {
	// Kind and Bus of the controller, which exists when the disk is attached.
	Kind string
	Bus  int32
	// Unit at the controller.
	Unit int32
	// Shared lets several VMs write to the disk.
	Shared bool
}

// readOnlyMode is that of a disk whose guest may write and leaves no trace of it: vSphere
// cannot keep a guest from writing, and discards what it has written when the VM is
// powered off (API, VirtualDiskMode).
const readOnlyMode = string(types.VirtualDiskModeIndependent_nonpersistent)

// compareClaims compares the disks of claims. A disk is found by its own ID, wherever it is. A
// new VM gets them after it was made, for they are attached by another service.
func compareClaims(in *input, places map[string]slot) []Difference {
	if in.New {
		return nil
	}
	var out []Difference
	attached, recorded := observe.FirstClass(in.vm), observe.Claims(in.vm)
	kept := map[string]bool{}
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, known := in.Claims[v.Name]
		if !known || claim.VolumeID == "" {
			kept[recorded[v.Name]] = true // Nobody knows that it is another one.
			continue
		}
		kept[claim.VolumeID] = true
		other := recorded[v.Name] != "" && recorded[v.Name] != claim.VolumeID && attached[recorded[v.Name]] != nil
		switch disk := attached[claim.VolumeID]; {
		case disk != nil:
			out = append(out, attachedClaim(in, v, claim, disk)...)
		case claim.Waiting == "" && !other:
			if s, ok := places[v.Name]; ok { // Refused says why not.
				out = append(out, attachClaim(in, v, claim, s))
				delete(recorded, v.Name) // It is recorded anew.
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if id := recorded[name]; !kept[id] {
			out = append(out, leaveClaim(in, name, id, attached[id]))
		}
	}
	return out
}

// unplacedClaim is true for a volume whose claim has a disk that the VM has yet to get.
func unplacedClaim(in *input, v *vmv1alpha1.VirtualMachineVolume) bool {
	if v.PersistentVolumeClaim == nil || in.New {
		return false
	}
	id := in.Claims[v.Name].VolumeID
	return id != "" && observe.FirstClass(in.vm)[id] == nil
}

// attachClaim records the disk, makes room for it and attaches it.
func attachClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, claim provider.Claim, s slot) Difference {
	return Difference{
		Path: hardware.Volume(v.Name), Desired: hardware.Claim(v.PersistentVolumeClaim.ClaimName),
		Live: hotplugs(in, s.controller),
		set: func(spec *types.VirtualMachineConfigSpec) {
			addController(in.vm, s, spec)
			option(observe.ClaimKey(v.Name), claim.VolumeID)(spec)
		},
		claim: &ClaimChange{ID: claim.VolumeID, Attach: &ClaimPlace{
			Kind: s.controller.Kind, Bus: s.controller.Bus, Unit: s.unit, Shared: claim.Shared,
		}},
	}
}

// attachedClaim compares a disk that is attached: its record, mode and size.
func attachedClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, claim provider.Claim, disk *types.VirtualDisk) []Difference {
	var out []Difference
	path := hardware.Volume(v.Name)
	if in.extra(observe.ClaimKey(v.Name)) != claim.VolumeID {
		// Attached by hand, or by a process that died: from now on it is ours to detach.
		out = append(out, Difference{Path: path, Running: "a disk without record", Desired: hardware.Claim(v.PersistentVolumeClaim.ClaimName), Live: true,
			set: option(observe.ClaimKey(v.Name), claim.VolumeID)})
	}
	b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if ok && (b.DiskMode == readOnlyMode) != claim.ReadOnly {
		out = append(out, Difference{Path: path + ".persistentVolumeClaim.readOnly", Running: hardware.Flag(!claim.ReadOnly), Desired: hardware.Flag(claim.ReadOnly),
			set: editMode(disk, b, claim)})
	}
	kind := controllerOf(observe.Controllers(in.vm), disk).Kind
	if have := observe.Capacity(disk); claim.Size > have {
		mib := (claim.Size + 1<<20 - 1) >> 20
		out = append(out, Difference{Path: path, Running: hardware.Disk(have, kind), Desired: hardware.Disk(mib<<20, kind), Live: hardware.GrowsDisk(kind),
			set: func(*types.VirtualMachineConfigSpec) {}, claim: &ClaimChange{ID: claim.VolumeID, Extend: mib}})
	}
	return out
}

// editMode makes writes go to the disk, or not.
func editMode(disk *types.VirtualDisk, b *types.VirtualDiskFlatVer2BackingInfo, claim provider.Claim) func(*types.VirtualMachineConfigSpec) {
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

// leaveClaim detaches the disk of a volume that the spec does not name any more, and then
// forgets it.
func leaveClaim(in *input, name, id string, disk *types.VirtualDisk) Difference {
	d := Difference{Path: hardware.Volume(name), Running: "disk " + id, Live: true, set: option(observe.ClaimKey(name), "")}
	if disk != nil {
		d.Live = hotplugs(in, controllerOf(observe.Controllers(in.vm), disk))
		d.set, d.claim = func(*types.VirtualMachineConfigSpec) {}, &ClaimChange{ID: id, Detach: true}
	}
	return d
}

// refusedClaim says what of a volume with a claim cannot be done, and whether something
// cannot.
func refusedClaim(in *input, v *vmv1alpha1.VirtualMachineVolume, say func(format string, args ...any)) bool {
	path, claim := hardware.Volume(v.Name), in.Claims[v.Name]
	switch {
	case bus(v) == "ide":
		say("%s.bus: the disk of a claim cannot be attached to ide; allowed: pvscsi, lsilogic, lsilogicsas, sata, nvme", path)
	case !in.PlacesClaims && bus(v) != "pvscsi":
		say("%s.bus: this vCenter attaches the disks of claims to pvscsi controllers only, which versions before %s do", path, PlacesClaimsSince)
	case !in.PlacesClaims && (v.ControllerBusNumber != nil || v.UnitNumber != nil):
		say("%s: this vCenter chooses the place of the disk of a claim, as versions before %s do: leave controllerBusNumber and unitNumber unset", path, PlacesClaimsSince)
	case !in.PlacesClaims && claim.Shared:
		say("%s.persistentVolumeClaim: this vCenter attaches the disk of a claim to one virtual machine at a time, as versions before %s do; the claim is ReadWriteMany", path, PlacesClaimsSince)
	default:
		return false
	}
	return true
}

// PlacesClaimsSince is the version of the API of vCenter since which the volume service
// takes a place, and lets several VMs have a disk (vmware/govmomi#3804, and
// kubernetes-sigs/vsphere-csi-driver#3783 for the version).
const PlacesClaimsSince = "9.1"

// ClaimChanges are those of the differences, detachments first.
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
