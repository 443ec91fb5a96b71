// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Temporary keys of new devices, far enough apart from each other.
const (
	newAdapterKey     = -100
	newControllerKey  = -200
	newDiskKey        = -300
	newTPMKey         = -400
	newSerialKey      = -401
	newPassthroughKey = -500
)

// scsiController is the unit of a SCSI bus that its controller has itself.
const scsiController = 7

// maxControllers and maxUnits are by class, from VMware's configuration
// maximums. The 64 units of new SCSI controllers are not counted on.
var (
	maxControllers = map[string]int32{"scsi": 4, "sata": 4, "nvme": 4, "ide": 2}
	maxUnits       = map[string]int32{"scsi": 16, "sata": 30, "nvme": 15, "ide": 2}
)

// volumes compares the empty disks. A disk is found by the slot that
// extraConfig holds, so that a repeated pass adds nothing.
func (c *comparison) volumes() {
	volumes := c.want.Effective.Volumes
	if c.vm.Config == nil || len(volumes) == 0 {
		return
	}
	attached := observe.Volumes(c.vm)
	controllers := observe.Controllers(c.vm)
	for i := range volumes {
		v := &volumes[i]
		if v.Disk == nil || v.Disk.Capacity == nil {
			continue
		}
		if disk, recorded := attached[v.Name]; recorded {
			// One that somebody took away is not replaced by an empty one.
			if disk != nil {
				c.grow(v, disk)
			}
			continue
		}
		s, ok := place(controllers, bus(v))
		if !ok {
			continue // Refused says so.
		}
		if s.added {
			controllers = append(controllers, s.controller)
		} else {
			controllers[s.at] = s.controller
		}
		c.addDisk(v, s, int32(i))
	}
}

// slot is where a new disk goes.
type slot struct {
	controller observe.Controller
	unit       int32
	// at is the index of the controller, added is true for one that is new.
	at    int
	added bool
}

// place finds the first free unit of a controller of the kind, or of a new one.
// The result's controller has the unit taken.
func place(controllers []observe.Controller, kind string) (slot, bool) {
	class := observe.Controller{Kind: kind}.Class()
	buses := map[int32]bool{}
	for at, c := range controllers {
		if c.Class() != class {
			continue
		}
		buses[c.Bus] = true
		if c.Kind != kind {
			continue
		}
		if unit, ok := freeUnit(c); ok {
			c.Units = append(slices.Clone(c.Units), unit)
			return slot{controller: c, unit: unit, at: at}, true
		}
	}
	for bus := range maxControllers[class] {
		if !buses[bus] && class != "ide" {
			c := observe.Controller{Kind: kind, Key: newControllerKey - int32(len(controllers)), Bus: bus, Units: []int32{0}}
			return slot{controller: c, added: true}, true
		}
	}
	return slot{}, false
}

func freeUnit(c observe.Controller) (int32, bool) {
	class := c.Class()
	for unit := range maxUnits[class] {
		if !slices.Contains(c.Units, unit) && (class != "scsi" || unit != scsiController) {
			return unit, true
		}
	}
	return 0, false
}

// bus is the kind of controller: virtio and scsi mean pvscsi, as no bus does.
func bus(v *vmv1alpha1.VirtualMachineVolume) string {
	switch v.Bus {
	case "", "virtio", "scsi":
		return "pvscsi"
	}
	return v.Bus
}

// hotplug is true when a running VM takes a disk on the controller.
func (c *comparison) hotplug(class string, newController bool) bool {
	if d := c.want.Effective.Devices; d != nil && isTrue(d.DisableHotplug) {
		return false
	}
	return class == "scsi" || class != "ide" && !newController
}

func (c *comparison) addDisk(v *vmv1alpha1.VirtualMachineVolume, s slot, n int32) {
	key, unit := newDiskKey-n, s.unit
	disk := &types.VirtualDisk{CapacityInBytes: capacity(v), CapacityInKB: capacity(v) >> 10}
	disk.Key, disk.ControllerKey, disk.UnitNumber = key, s.controller.Key, &unit
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{
		DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: types.NewBool(true),
	}
	live := c.hotplug(s.controller.Class(), s.controller.Key < 0)
	c.add(Difference{Path: hardware.Volume(v.Name), Desired: hardware.Disk(capacity(v), s.controller.Kind), Live: live,
		set: func(spec *types.VirtualMachineConfigSpec) {
			if s.added {
				spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
					Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: newController(s.controller, c.pciKey())})
			}
			spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk,
				FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate})
			spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{
				Key: observe.VolumeKey(v.Name), Value: s.controller.Slot(unit)})
		}})
}

// grow makes a disk larger; that it cannot shrink is said by Refused.
func (c *comparison) grow(v *vmv1alpha1.VirtualMachineVolume, have *types.VirtualDisk) {
	want := capacity(v)
	if want <= observe.Capacity(have) {
		return
	}
	kind := controllerOfDisk(observe.Controllers(c.vm), have).Kind
	c.add(Difference{Path: hardware.Volume(v.Name), Running: hardware.Disk(observe.Capacity(have), kind), Desired: hardware.Disk(want, kind), Live: kind != "ide",
		set: func(spec *types.VirtualMachineConfigSpec) {
			disk := *have
			disk.CapacityInBytes, disk.CapacityInKB = want, want>>10
			spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk})
		}})
}

func controllerOfDisk(controllers []observe.Controller, disk *types.VirtualDisk) observe.Controller {
	for _, c := range controllers {
		if c.Key == disk.ControllerKey {
			return c
		}
	}
	return observe.Controller{}
}

// newController makes the device. Nothing asks for a bus that VMs share.
func newController(c observe.Controller, pci int32) types.BaseVirtualDevice {
	base := types.VirtualController{BusNumber: c.Bus}
	base.Key, base.ControllerKey = c.Key, pci
	scsi := types.VirtualSCSIController{VirtualController: base, SharedBus: types.VirtualSCSISharingNoSharing}
	switch c.Kind {
	case "lsilogic":
		return &types.VirtualLsiLogicController{VirtualSCSIController: scsi}
	case "lsilogicsas":
		return &types.VirtualLsiLogicSASController{VirtualSCSIController: scsi}
	case "sata":
		return &types.VirtualAHCIController{VirtualSATAController: types.VirtualSATAController{VirtualController: base}}
	case "nvme":
		return &types.VirtualNVMEController{VirtualController: base}
	}
	return &types.ParaVirtualSCSIController{VirtualSCSIController: scsi}
}

// pciKey is the key of the PCI controller, 100 on every VM seen so far.
func (c *comparison) pciKey() int32 {
	for _, d := range c.have.Hardware.Device {
		if pci, ok := d.(*types.VirtualPCIController); ok {
			return pci.Key
		}
	}
	return 100
}

// capacity is in bytes, rounded up to whole mebibytes.
func capacity(v *vmv1alpha1.VirtualMachineVolume) int64 { return mebibytes(v.Disk.Capacity) << 20 }

// refusedVolumes says what of the volumes cannot be done.
func (c *comparison) refusedVolumes(say func(format string, args ...any)) {
	if len(c.want.Effective.Volumes) == 0 {
		return
	}
	attached := observe.Volumes(c.vm)
	controllers := observe.Controllers(c.vm)
	for i := range c.want.Effective.Volumes {
		v := &c.want.Effective.Volumes[i]
		switch disk, recorded := attached[v.Name]; {
		case v.Disk == nil || v.Disk.Capacity == nil:
			say("%s.persistentVolumeClaim: not supported by this version", hardware.Volume(v.Name))
		case recorded && disk == nil:
			say("%s: its disk was removed in vSphere: attach it again at %s, or rename the volume for an empty one",
				hardware.Volume(v.Name), extra(c, observe.VolumeKey(v.Name)))
		case disk != nil && capacity(v) < observe.Capacity(disk):
			say("%s.disk.size: %s is less than the %s of the disk, and vSphere cannot shrink one",
				hardware.Volume(v.Name), v.Disk.Capacity, hardware.Bytes(observe.Capacity(disk)))
		case disk == nil && c.vm.Config != nil:
			s, ok := place(controllers, bus(v))
			if !ok {
				say("%s.bus: the virtual machine has no free slot on %s", hardware.Volume(v.Name), bus(v))
			} else if s.added {
				controllers = append(controllers, s.controller)
			} else {
				controllers[s.at] = s.controller
			}
		}
	}
}

// unappliedVolumes says what of the volumes is not as asked, and why.
func (c *comparison) unappliedVolumes(say func(format string, args ...any)) {
	attached := observe.Volumes(c.vm)
	if len(attached) == 0 && len(c.want.Effective.Volumes) == 0 {
		return
	}
	controllers := observe.Controllers(c.vm)
	for i := range c.want.Effective.Volumes {
		v := &c.want.Effective.Volumes[i]
		if v.Disk != nil && v.Disk.StorageClass != "" {
			say("%s.disk.storageClass %s (the disk is beside the virtual machine)", hardware.Volume(v.Name), v.Disk.StorageClass)
		}
		if disk := attached[v.Name]; disk != nil {
			if kind := controllerOfDisk(controllers, disk).Kind; kind != bus(v) {
				say("%s.bus %s (the disk was made on %s)", hardware.Volume(v.Name), bus(v), kind)
			}
			delete(attached, v.Name)
		}
	}
	for _, name := range sortedKeys(attached) {
		if attached[name] == nil {
			continue
		}
		say("%s (no longer in the spec; the disk stays as long as the virtual machine)", hardware.Volume(name))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
