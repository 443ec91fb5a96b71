// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// slot is the position of a new disk or drive.
type slot struct {
	controller observe.Controller
	unit       int32
	// added is true for a new controller that no other volume has added.
	added bool
}

// findSlots assigns slots to volumes that have no slot. problems has the reasons for volumes that get no slot. Volumes
// that specify their position are assigned first, so that other volumes do not occupy it.
func findSlots(vm *mo.VirtualMachine, volumes []*vmv1alpha1.VirtualMachineVolume) (assigned map[string]slot, problems map[string]string) {
	if len(volumes) == 0 {
		return nil, nil
	}
	controllers, version := observe.Controllers(vm), int32(0)
	if vm.Config != nil {
		version = observe.HardwareVersion(vm.Config.Version)
	}
	assigned, problems = map[string]slot{}, map[string]string{}
	ordered := slices.Clone(volumes)
	slices.SortStableFunc(ordered, func(a, b *vmv1alpha1.VirtualMachineVolume) int {
		return countPositionFields(b) - countPositionFields(a)
	})
	for _, v := range ordered {
		s, problem := findSlot(&controllers, v, version)
		if problem != "" {
			problems[v.Name] = problem
			continue
		}
		assigned[v.Name] = s
	}
	return assigned, problems
}

// countPositionFields returns how many of the two position fields a volume sets.
func countPositionFields(v *vmv1alpha1.VirtualMachineVolume) int {
	n := 0
	if v.ControllerBusNumber != nil {
		n++
	}
	if v.UnitNumber != nil {
		n++
	}
	return n
}

// findSlot assigns the slot that a volume specifies, or the first free slot, on a controller of its kind or a new
// one. If there is no such slot, it returns the reason. version is the VM's virtual hardware version, 0 if it is
// not known.
func findSlot(controllers *[]observe.Controller, v *vmv1alpha1.VirtualMachineVolume, version int32) (slot, string) {
	kind := busOf(v)
	slots := limits.SlotsOf(kind, version)
	buses := map[int32]bool{}
	for at := range *controllers {
		have := &(*controllers)[at]
		if have.Class() != slots.Class {
			continue
		}
		buses[have.Bus] = true
		if v.ControllerBusNumber != nil && *v.ControllerBusNumber != have.Bus {
			continue
		}
		if have.Kind != kind {
			if v.ControllerBusNumber != nil {
				return slot{}, fmt.Sprintf("controllerBusNumber: %s controller %d is %s, not %s", slots.Class, have.Bus, have.Kind, kind)
			}
			continue
		}
		if unit, ok := freeUnit(*have, slots, v.UnitNumber); ok {
			have.Units = append(slices.Clone(have.Units), unit)
			return slot{controller: *have, unit: unit}, ""
		}
		if v.ControllerBusNumber != nil && v.UnitNumber != nil {
			if !slots.Usable(*v.UnitNumber) {
				return slot{}, unusableUnit(*v.UnitNumber, kind, slots)
			}
			return slot{}, fmt.Sprintf("unitNumber: %s is in use by another device", have.Slot(*v.UnitNumber))
		}
	}
	return newSlot(controllers, v, buses, slots)
}

// newSlot assigns a slot on a new controller. It does not add IDE controllers, because every VM already has
// all possible IDE controllers.
func newSlot(controllers *[]observe.Controller, v *vmv1alpha1.VirtualMachineVolume, taken map[int32]bool, slots limits.Slots) (slot, string) {
	kind := busOf(v)
	unit := int32(0)
	if v.UnitNumber != nil {
		unit = *v.UnitNumber
	}
	if !slots.Usable(unit) {
		return slot{}, unusableUnit(unit, kind, slots)
	}
	for number := range slots.Controllers {
		if taken[number] || slots.Class == "ide" || v.ControllerBusNumber != nil && *v.ControllerBusNumber != number {
			continue
		}
		// The position in the list makes the keys of new controllers unique.
		added := observe.Controller{Kind: kind, Key: newControllerKey - int32(len(*controllers)), Bus: number, Units: []int32{unit}}
		*controllers = append(*controllers, added)
		return slot{controller: added, unit: unit, added: true}, ""
	}
	if v.ControllerBusNumber != nil && (*v.ControllerBusNumber < 0 || *v.ControllerBusNumber >= slots.Controllers) {
		return slot{}, fmt.Sprintf("controllerBusNumber: %s has no controller %d; the controllers are 0 to %d", slots.Class, *v.ControllerBusNumber, slots.Controllers-1)
	}
	return slot{}, "bus: the virtual machine has no free slot on " + kind + olderHardware(kind, slots)
}

// unusableUnit returns the message for a unit number that the bus does not support.
func unusableUnit(unit int32, kind string, slots limits.Slots) string {
	return fmt.Sprintf("unitNumber: %d cannot be used on %s, whose units are 0 to %d%s", unit, kind, slots.Units-1, olderHardware(kind, slots))
}

// olderHardware returns a hint if a newer virtual hardware version has more units on the bus.
func olderHardware(kind string, slots limits.Slots) string {
	newer := limits.SlotsOf(kind, limits.PVSCSIVersion)
	if newer.Units <= slots.Units {
		return ""
	}
	return fmt.Sprintf(" (0 to %d with virtual hardware version %d or newer: set minHardwareVersion)", newer.Units-1, limits.PVSCSIVersion)
}

// freeUnit returns the requested unit, or the first free unit. It returns false if there is none.
func freeUnit(c observe.Controller, slots limits.Slots, requested *int32) (int32, bool) {
	if requested != nil {
		return *requested, slots.Usable(*requested) && !slices.Contains(c.Units, *requested)
	}
	for unit := range slots.Units {
		if slots.Usable(unit) && !slices.Contains(c.Units, unit) {
			return unit, true
		}
	}
	return 0, false
}

// busOf returns the controller kind. An empty bus, virtio and scsi mean pvscsi.
func busOf(v *vmv1alpha1.VirtualMachineVolume) string {
	switch v.Bus {
	case "", "virtio", "scsi":
		return "pvscsi"
	}
	return v.Bus
}

// addController adds the slot's controller if it is new.
func addController(vm *mo.VirtualMachine, s slot, spec *types.VirtualMachineConfigSpec) {
	if s.added {
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: newController(s.controller, pciKey(vm))})
	}
}

// canHotplug reports whether disks can be added to and removed from the controller while the VM is running. A
// controller that does not exist yet has a negative key.
func canHotplug(in *input, c observe.Controller) bool {
	d := in.Effective.Devices
	return hardware.CanPlugDisk(c.Kind, c.Key >= 0, d != nil && isTrue(d.DisableHotplug))
}

// newController returns the device for a controller. SCSI buses are not shared between VMs.
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

// pciKey returns the key of the PCI controller. The default is 100, the key on all VMs observed so far.
func pciKey(vm *mo.VirtualMachine) int32 {
	if all := devicesOf[*types.VirtualPCIController](vm); len(all) > 0 {
		return all[0].Key
	}
	return 100
}

// controllerOf returns a device's controller.
func controllerOf(controllers []observe.Controller, device types.BaseVirtualDevice) observe.Controller {
	for _, c := range controllers {
		if c.Key == device.GetVirtualDevice().ControllerKey {
			return c
		}
	}
	return observe.Controller{}
}
