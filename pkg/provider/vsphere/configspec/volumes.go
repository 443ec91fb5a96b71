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

// Temporary keys of new devices. The ranges do not overlap: a VM has at most 256 disks.
const (
	newAdapterKey     = -100
	newControllerKey  = -200
	newTPMKey         = -400
	newSerialKey      = -401
	newPassthroughKey = -500
	newDiskKey        = -1000
	newDriveKey       = -2000
)

// compareVolumes compares the volumes. A disk is identified by the slot in extraConfig, so that a repeated
// comparison does not add the disk again.
func compareVolumes(in *input) []Difference {
	volumes := in.Effective.Volumes
	attached := attachedDisks(in)
	var out []Difference
	out = append(out, removeVolumes(in, attached)...)
	slots, _ := findSlots(in.vm, unplacedVolumes(in))
	for i := range volumes {
		v := &volumes[i]
		switch disk, recorded := attached[v.Name]; {
		case v.CDROM != nil:
			out = append(out, compareDrive(in, v, slots, int32(i)))
		case v.Disk == nil || v.Disk.Capacity == nil:
		case disk != nil:
			path := hardware.Volume(v.Name)
			out = append(out, recordAdoptedDisk(in, v, disk), growDisk(in.vm, path, v.Disk.Capacity, disk),
				changePolicy(in, path, v.Disk.StorageClass, observe.PolicyKey(v.Name), disk), recordReclaim(in, v, disk))
		case recorded: // A disk that was detached in vSphere is not replaced by an empty one.
		default:
			if s, ok := slots[v.Name]; ok {
				out = append(out, addDisk(in, v, s, int32(i)))
			}
		}
	}
	out = append(out, compareClaims(in, slots)...)
	return out
}

// unplacedVolumes returns the volumes that have no device on the VM.
func unplacedVolumes(in *input) []*vmv1alpha1.VirtualMachineVolume {
	var out []*vmv1alpha1.VirtualMachineVolume
	attached, drives := attachedDisks(in), observe.Drives(in.vm)
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if isUnplacedClaim(in, v) {
			out = append(out, v)
		}
		if _, recorded := attached[v.Name]; v.Disk != nil && v.Disk.Capacity != nil && !recorded || v.CDROM != nil && drives[v.Name] == nil {
			out = append(out, v)
		}
	}
	return out
}

// addDisk adds an empty disk. The disk is in the VM's directory unless its storage policy requires another
// datastore.
func addDisk(in *input, v *vmv1alpha1.VirtualMachineVolume, s slot, n int32) Difference {
	policy, known := policyOf(in, v.Disk.StorageClass)
	if !known || cannotEncrypt(in, policy, nil) != "" {
		return Difference{}
	}
	unit, size := s.unit, bytes(v.Disk.Capacity)
	disk := &types.VirtualDisk{CapacityInBytes: size, CapacityInKB: size >> 10}
	disk.Key, disk.ControllerKey, disk.UnitNumber = newDiskKey-n, s.controller.Key, &unit
	backing := &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	backing.ThinProvisioned, backing.EagerlyScrub = provisioningFlags(v.Disk.Provisioning, policy.ID != "")
	backing.FileName = otherDatastore(in, policy)
	disk.Backing = backing
	live := canHotplug(in, s.controller) && appliesLive(in, policy)
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

// growDisk grows a disk. A disk that is larger than requested satisfies the request, like a PersistentVolume that
// is larger than its claim. NotApplied reports it.
func growDisk(vm *mo.VirtualMachine, path string, capacity *resource.Quantity, have *types.VirtualDisk) Difference {
	want := bytes(capacity)
	if want <= observe.Capacity(have) || observe.HasParent(have) {
		return Difference{}
	}
	kind := controllerOf(observe.Controllers(vm), have).Kind
	return Difference{Path: path, Running: hardware.Disk(observe.Capacity(have), kind), Desired: hardware.Disk(want, kind), Live: hardware.CanGrowDisk(kind),
		set: func(spec *types.VirtualMachineConfigSpec) {
			disk := editOf(spec, have).Device.(*types.VirtualDisk)
			disk.CapacityInBytes, disk.CapacityInKB = want, want>>10
		}}
}

// editOf returns the edit of an existing disk in spec, and adds it if it is missing. vSphere accepts one change for
// each device.
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

// provisioningFlags returns the provisioning fields of a backing. The default is thin, or the storage policy's setting
// if the disk has a policy.
func provisioningFlags(p vmv1alpha1.DiskProvisioning, byPolicy bool) (thin, scrub *bool) {
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

// bytes returns a capacity in bytes, rounded up to whole mebibytes.
func bytes(capacity *resource.Quantity) int64 { return mebibytes(capacity) << 20 }

// refuseVolumes reports volumes that cannot be attached or resized. It returns the names of the volumes that cannot be
// attached.
func refuseVolumes(in *input, reportf func(format string, args ...any)) []string {
	if len(in.Effective.Volumes) == 0 {
		return nil
	}
	var unattachable []string
	attached := attachedDisks(in)
	var problems map[string]string
	if in.vm.Config != nil {
		_, problems = findSlots(in.vm, unplacedVolumes(in))
	}
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		path := hardware.Volume(v.Name)
		disk, recorded := attached[v.Name]
		switch {
		case v.PersistentVolumeClaim != nil && refuseClaim(in, v, reportf):
			unattachable = append(unattachable, v.Name)
		case problems[v.Name] != "":
			reportf("%s.%s", path, problems[v.Name])
			unattachable = append(unattachable, v.Name)
		case v.CDROM != nil, v.PersistentVolumeClaim != nil:
		case recorded && disk == nil:
			reportf("%s: its disk was removed in vSphere%s: attach it again at %s, or rename the volume to get an empty disk",
				path, replacementNote(in, v.Name), in.extra(observe.VolumeKey(v.Name)))
		case disk != nil && v.Disk != nil:
			refuseSize(path+".disk.size", v.Disk.Capacity, disk, reportf)
		}
	}
	return unattachable
}

// replacementNote returns the end of a sentence with the disk that is now in the slot of a volume's disk, or an empty
// string.
func replacementNote(in *input, volume string) string {
	for _, disk := range devicesOf[*types.VirtualDisk](in.vm) {
		if observe.SlotOf(in.vm, disk) == in.extra(observe.VolumeKey(volume)) {
			return " and replaced by " + observe.DiskFiles(disk.Backing)[0]
		}
	}
	return ""
}

// refuseSize reports why a disk cannot have a capacity.
func refuseSize(path string, capacity *resource.Quantity, disk *types.VirtualDisk, reportf func(format string, args ...any)) {
	if have := observe.Capacity(disk); capacity != nil && bytes(capacity) > have && observe.HasParent(disk) {
		// VMware KB 1004047: a disk with snapshots cannot be extended.
		reportf("%s: the disk of %s cannot grow to %s while it has snapshots or is linked to another virtual machine's disk",
			path, hardware.Bytes(have), capacity)
	}
}

// reportUnappliedSizes reports disks that are larger than requested.
func reportUnappliedSizes(in *input, reportf func(format string, args ...any)) {
	if in.vm.Config == nil {
		return
	}
	attached := attachedDisks(in)
	larger := func(path string, capacity *resource.Quantity, disk *types.VirtualDisk) {
		if capacity == nil || disk == nil {
			return
		}
		if have := observe.Capacity(disk); bytes(capacity) < have {
			reportf("%s %s (the disk has %s, and vSphere cannot shrink disks)", path, capacity, hardware.Bytes(have))
		}
	}
	if in.Effective.BootDisk != nil {
		disk, _ := observe.BootDiskOf(in.vm, attached)
		larger(hardware.BootDiskSize, in.Effective.BootDisk.Capacity, disk)
	}
	for i := range in.Effective.Volumes {
		if v := &in.Effective.Volumes[i]; v.Disk != nil {
			larger(hardware.Volume(v.Name)+".disk.size", v.Disk.Capacity, attached[v.Name])
		}
	}
}

// reportUnappliedISOs reports images of CD-ROM drives whose files are not known.
func reportUnappliedISOs(in *input, reportf func(format string, args ...any)) {
	for i := range in.Effective.Volumes {
		v := &in.Effective.Volumes[i]
		if v.CDROM == nil || v.CDROM.Image == nil {
			continue
		}
		if _, known := in.ISOs[v.Name]; !known {
			reportf("%s.cdrom.image %s (its file is not known)", hardware.Volume(v.Name), v.CDROM.Image.Name)
		}
	}
}

// deviatingVolumes reports disks that differ from the spec and cannot be changed. It also reports disks that stay
// attached although their volumes were removed.
func deviatingVolumes(in *input, reportf func(format string, args ...any)) {
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
		if have.Kind != busOf(v) {
			reportf("%s.bus %s (the disk is on %s, and its bus cannot be changed)", path, busOf(v), have.Kind)
		}
		deviatingPosition(in, path, v, have, disk, reportf)
		if v.Disk != nil {
			deviatingMode(in, path, disk, reportf)
			deviatingProvisioning(path+".disk", v.Disk.Provisioning, disk, reportf)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attached)) {
		if why := whyStays(in, name, attached[name]); why != "" {
			reportf("%s (%s)", hardware.Volume(name), why)
		}
	}
}

// lossyModes are disk modes in which the guest's writes are lost when the VM is powered off or when the changes are
// discarded (vSphere API, VirtualDiskMode).
var lossyModes = []types.VirtualDiskMode{
	types.VirtualDiskModeNonpersistent, types.VirtualDiskModeIndependent_nonpersistent, types.VirtualDiskModeUndoable, types.VirtualDiskModeAppend,
}

// deviatingMode reports a disk that does not keep the guest's writes.
func deviatingMode(in *input, path string, disk *types.VirtualDisk, reportf func(format string, args ...any)) {
	if mode := observe.DiskMode(disk.Backing); !in.adopted && slices.Contains(lossyModes, mode) {
		reportf("%s (the guest loses its writes because the disk mode is %s: power off the virtual machine and set the mode to persistent in vSphere)", path, mode)
	}
}

// deviatingPosition reports a disk that is not at the position of the spec.
func deviatingPosition(in *input, path string, v *vmv1alpha1.VirtualMachineVolume, have observe.Controller, disk *types.VirtualDisk, reportf func(format string, args ...any)) {
	if n := v.ControllerBusNumber; n != nil && *n != have.Bus {
		reportf("%s.controllerBusNumber %d (the disk is at %s)", path, *n, have.Slot(*disk.UnitNumber))
	}
	if n := v.UnitNumber; n != nil && *n != *disk.UnitNumber {
		reportf("%s.unitNumber %d (the disk is at %s)", path, *n, have.Slot(*disk.UnitNumber))
	}
}

// deviatingProvisioning reports a disk whose provisioning is not the requested one.
func deviatingProvisioning(path string, want vmv1alpha1.DiskProvisioning, disk *types.VirtualDisk, reportf func(format string, args ...any)) {
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
		reportf("%s.provisioning %s (the disk is %s)", path, want, have)
	}
}
