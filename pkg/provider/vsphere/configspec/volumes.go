// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Temporary keys of new devices, far enough apart from each other: a virtual machine has
// up to 256 disks.
const (
	newAdapterKey     = -100
	newControllerKey  = -200
	newTPMKey         = -400
	newSerialKey      = -401
	newPassthroughKey = -500
	newDiskKey        = -1000
	newDriveKey       = -2000
)

// compareVolumes compares the empty disks. A disk is found by the slot that
// extraConfig holds, so that a repeated pass adds nothing.
func compareVolumes(in *input) []Difference {
	volumes := in.Effective.Volumes
	attached := attachedDisks(in)
	var out []Difference
	out = append(out, removedVolumes(in, attached)...)
	places, _ := findSlots(in.vm, unplaced(in))
	for i := range volumes {
		v := &volumes[i]
		switch disk, recorded := attached[v.Name]; {
		case v.CDROM != nil:
			out = append(out, compareDrive(in, v, places, int32(i)))
		case v.Disk == nil || v.Disk.Capacity == nil:
		case disk != nil:
			path := hardware.Volume(v.Name)
			out = append(out, takeDisk(in, v, disk), growDisk(in.vm, path, v.Disk.Capacity, disk),
				changePolicy(in, path, v.Disk.StorageClass, observe.PolicyKey(v.Name), disk), recordReclaim(in, v, disk))
		case recorded: // A disk that was detached in vSphere is not replaced by an empty one.
		default:
			if s, ok := places[v.Name]; ok {
				out = append(out, addDisk(in, v, s, int32(i)))
			}
		}
	}
	out = append(out, compareClaims(in, places)...)
	return out
}

// unplaced are the volumes that the virtual machine has no device of.
func unplaced(in *input) []*vmv1alpha1.VirtualMachineVolume {
	var out []*vmv1alpha1.VirtualMachineVolume
	attached, drives := attachedDisks(in), observe.Drives(in.vm)
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if unplacedClaim(in, v) {
			out = append(out, v)
		}
		if _, recorded := attached[v.Name]; v.Disk != nil && v.Disk.Capacity != nil && !recorded || v.CDROM != nil && drives[v.Name] == nil {
			out = append(out, v)
		}
	}
	return out
}

// addDisk adds an empty disk, beside the virtual machine unless its policy wants it
// elsewhere.
func addDisk(in *input, v *vmv1alpha1.VirtualMachineVolume, s slot, n int32) Difference {
	policy, known := policyOf(in, v.Disk.StorageClass)
	if !known || cannotEncrypt(in, policy, nil) != "" {
		return Difference{}
	}
	unit, size := s.unit, bytes(v.Disk.Capacity)
	disk := &types.VirtualDisk{CapacityInBytes: size, CapacityInKB: size >> 10}
	disk.Key, disk.ControllerKey, disk.UnitNumber = newDiskKey-n, s.controller.Key, &unit
	backing := &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	backing.ThinProvisioned, backing.EagerlyScrub = provisioned(v.Disk.Provisioning, policy.ID != "")
	backing.FileName = otherDatastore(in, policy)
	disk.Backing = backing
	live := hotplugs(in, s.controller) && appliesLive(in, policy)
	return Difference{Path: hardware.Volume(v.Name), Desired: hardware.Disk(size, s.controller.Kind), Live: live,
		set: func(spec *types.VirtualMachineConfigSpec) {
			addController(in.vm, s, spec)
			change := &types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk,
				FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate}
			spec.DeviceChange = append(spec.DeviceChange, change)
			option(observe.VolumeKey(v.Name), s.controller.Slot(unit))(spec)
			option(observe.DiskKey(s.controller.Slot(unit)), observe.DiskCreated)(spec)
			applyPolicy(in, spec, change, policy, observe.PolicyKey(v.Name))
		}}
}

// growDisk makes a disk larger. One that is larger than requested satisfies the request, as a
// PersistentVolume does that is larger than its claim: NotApplied reports it.
func growDisk(vm *mo.VirtualMachine, path string, capacity *resource.Quantity, have *types.VirtualDisk) Difference {
	want := bytes(capacity)
	if want <= observe.Capacity(have) || observe.HasParent(have) {
		return Difference{}
	}
	kind := controllerOf(observe.Controllers(vm), have).Kind
	return Difference{Path: path, Running: hardware.Disk(observe.Capacity(have), kind), Desired: hardware.Disk(want, kind), Live: hardware.GrowsDisk(kind),
		set: func(spec *types.VirtualMachineConfigSpec) {
			disk := editOf(spec, have).Device.(*types.VirtualDisk)
			disk.CapacityInBytes, disk.CapacityInKB = want, want>>10
		}}
}

// editOf is the one change of a disk that is there: vSphere takes one for each device.
func editOf(spec *types.VirtualMachineConfigSpec, have *types.VirtualDisk) *types.VirtualDeviceConfigSpec {
	for _, c := range spec.DeviceChange {
		if change := c.GetVirtualDeviceConfigSpec(); change.Operation == types.VirtualDeviceConfigSpecOperationEdit && change.Device.GetVirtualDevice().Key == have.Key {
			return change
		}
	}
	disk := *have
	change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk}
	spec.DeviceChange = append(spec.DeviceChange, change)
	return change
}

// provisioned are the switches of a backing. Without a word a disk is thin, unless a
// storage policy says what it is.
func provisioned(p vmv1alpha1.DiskProvisioning, byPolicy bool) (thin, scrub *bool) {
	switch p {
	case vmv1alpha1.DiskProvisioningThin:
	case vmv1alpha1.DiskProvisioningThick:
		return types.NewBool(false), types.NewBool(false)
	case vmv1alpha1.DiskProvisioningThickEagerZero:
		return types.NewBool(false), types.NewBool(true)
	default:
		if byPolicy {
			return nil, nil
		}
	}
	return types.NewBool(true), nil
}

// bytes of a capacity, rounded up to whole mebibytes.
func bytes(capacity *resource.Quantity) int64 { return mebibytes(capacity) << 20 }

// refusedVolumes says what of the volumes cannot be done, and returns the names of those that cannot be attached.
func refusedVolumes(in *input, say func(format string, args ...any)) []string {
	if len(in.Effective.Volumes) == 0 {
		return nil
	}
	var unattachable []string
	attached := attachedDisks(in)
	var problems map[string]string
	if in.vm.Config != nil {
		_, problems = findSlots(in.vm, unplaced(in))
	}
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		path := hardware.Volume(v.Name)
		disk, recorded := attached[v.Name]
		switch {
		case v.PersistentVolumeClaim != nil && refusedClaim(in, v, say):
			unattachable = append(unattachable, v.Name)
		case problems[v.Name] != "":
			say("%s.%s", path, problems[v.Name])
			unattachable = append(unattachable, v.Name)
		case v.CDROM != nil, v.PersistentVolumeClaim != nil:
		case recorded && disk == nil:
			say("%s: its disk was removed in vSphere%s: attach it again at %s, or rename the volume for an empty one",
				path, replacedBy(in, v.Name), in.extra(observe.VolumeKey(v.Name)))
		case disk != nil && v.Disk != nil:
			refusedSize(path+".disk.size", v.Disk.Capacity, disk, say)
		}
	}
	return unattachable
}

// replacedBy names the disk that is in the slot of a volume's disk.
func replacedBy(in *input, volume string) string {
	for _, disk := range devicesOf[*types.VirtualDisk](in.vm) {
		if observe.SlotOf(in.vm, disk) == in.extra(observe.VolumeKey(volume)) {
			return " and replaced by " + observe.DiskFiles(disk.Backing)[0]
		}
	}
	return ""
}

// refusedSize says why a disk cannot have a capacity.
func refusedSize(path string, capacity *resource.Quantity, disk *types.VirtualDisk, say func(format string, args ...any)) {
	if have := observe.Capacity(disk); capacity != nil && bytes(capacity) > have && observe.HasParent(disk) {
		// VMware KB 1004047: a disk with snapshots cannot be extended.
		say("%s: the disk of %s cannot grow to %s while it has snapshots or depends on the disk of another virtual machine",
			path, hardware.Bytes(have), capacity)
	}
}

// unappliedSizes names the disks that are larger than requested.
func unappliedSizes(in *input, say func(format string, args ...any)) {
	if in.vm.Config == nil {
		return
	}
	attached := attachedDisks(in)
	larger := func(path string, capacity *resource.Quantity, disk *types.VirtualDisk) {
		if capacity == nil || disk == nil {
			return
		}
		if have := observe.Capacity(disk); bytes(capacity) < have {
			say("%s %s (the disk has %s, and vSphere cannot shrink one)", path, capacity, hardware.Bytes(have))
		}
	}
	if in.Effective.BootDisk != nil {
		disk, _ := observe.BootDiskBeside(in.vm, attached)
		larger(hardware.BootDiskSize, in.Effective.BootDisk.Capacity, disk)
	}
	for i := range in.Effective.Volumes {
		if v := &in.Effective.Volumes[i]; v.Disk != nil {
			larger(hardware.Volume(v.Name)+".disk.size", v.Disk.Capacity, attached[v.Name])
		}
	}
}

// unappliedDiscs names the images of CD-ROM drives whose files are not known.
func unappliedDiscs(in *input, say func(format string, args ...any)) {
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if v.CDROM == nil || v.CDROM.Image == nil {
			continue
		}
		if _, known := in.ISOs[v.Name]; !known {
			say("%s.cdrom.image %s (its file is not known)", hardware.Volume(v.Name), v.CDROM.Image.Name)
		}
	}
}

// deviatingVolumes names the disks that are not as the spec has them and cannot be changed, and those that stay
// attached although their volumes were removed.
func deviatingVolumes(in *input, say func(format string, args ...any)) {
	attached := attachedDisks(in)
	controllers := observe.Controllers(in.vm)
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		disk := attached[v.Name]
		delete(attached, v.Name)
		if disk == nil {
			continue
		}
		have := controllerOf(controllers, disk)
		path := hardware.Volume(v.Name)
		if have.Kind != bus(v) {
			say("%s.bus %s (the disk is on %s, and its bus cannot be changed)", path, bus(v), have.Kind)
		}
		deviatingPlace(in, path, v, have, disk, say)
		if v.Disk != nil {
			deviatingMode(in, path, disk, say)
			deviatingProvisioning(path+".disk", v.Disk.Provisioning, disk, say)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attached)) {
		if why := whyStays(in, name, attached[name]); why != "" {
			say("%s (%s)", hardware.Volume(name), why)
		}
	}
}

// lossyModes are the modes of a disk whose guest loses what it has written when the VM is powered off, or when the
// changes are discarded (vSphere API, VirtualDiskMode).
var lossyModes = []types.VirtualDiskMode{
	types.VirtualDiskModeNonpersistent, types.VirtualDiskModeIndependent_nonpersistent, types.VirtualDiskModeUndoable, types.VirtualDiskModeAppend,
}

// deviatingMode names a disk that does not keep what the guest writes.
func deviatingMode(in *input, path string, disk *types.VirtualDisk, say func(format string, args ...any)) {
	if mode := observe.DiskMode(disk.Backing); !in.adopted && slices.Contains(lossyModes, mode) {
		say("%s (its disk has the mode %s, in which the guest loses what it writes: power the virtual machine off and set the mode persistent in vSphere)", path, mode)
	}
}

// deviatingPlace names a place that the disk does not have.
func deviatingPlace(in *input, path string, v *vmv1alpha1.VirtualMachineVolume, have observe.Controller, disk *types.VirtualDisk, say func(format string, args ...any)) {
	if n := v.ControllerBusNumber; n != nil && *n != have.Bus {
		say("%s.controllerBusNumber %d (the disk is at %s)", path, *n, have.Slot(*disk.UnitNumber))
	}
	if n := v.UnitNumber; n != nil && *n != *disk.UnitNumber {
		say("%s.unitNumber %d (the disk is at %s)", path, *n, have.Slot(*disk.UnitNumber))
	}
}

// deviatingProvisioning says how a disk is provisioned if that is not as asked for.
func deviatingProvisioning(path string, want vmv1alpha1.DiskProvisioning, disk *types.VirtualDisk, say func(format string, args ...any)) {
	backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if want == "" || !ok {
		return
	}
	have := vmv1alpha1.DiskProvisioningThick
	switch {
	case isTrue(backing.ThinProvisioned):
		have = vmv1alpha1.DiskProvisioningThin
	case isTrue(backing.EagerlyScrub):
		have = vmv1alpha1.DiskProvisioningThickEagerZero
	}
	if have != want {
		say("%s.provisioning %s (the disk is %s)", path, want, have)
	}
}
