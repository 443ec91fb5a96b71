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

// slot is where a new disk or drive goes.
type slot struct {
	controller observe.Controller
	unit       int32
	// added is true for a controller that is new and that nobody before has asked for.
	added bool
}

// findSlots gives places to the volumes that have none yet, and says why one has none. Those
// that name their place come first: others must not be in their way.
func findSlots(vm *mo.VirtualMachine, volumes []*vmv1alpha1.VirtualMachineVolume) (places map[string]slot, problems map[string]string) {
	if len(volumes) == 0 {
		return nil, nil
	}
	controllers, version := observe.Controllers(vm), int32(0)
	if vm.Config != nil {
		version = observe.HardwareVersion(vm.Config.Version)
	}
	places, problems = map[string]slot{}, map[string]string{}
	ordered := slices.Clone(volumes)
	slices.SortStableFunc(ordered, func(a, b *vmv1alpha1.VirtualMachineVolume) int { return named(b) - named(a) })
	for _, v := range ordered {
		s, problem := place(&controllers, v, version)
		if problem != "" {
			problems[v.Name] = problem
			continue
		}
		places[v.Name] = s
	}
	return places, problems
}

// named counts the parts of its place that a volume names.
func named(v *vmv1alpha1.VirtualMachineVolume) int {
	n := 0
	if v.ControllerBusNumber != nil {
		n++
	}
	if v.UnitNumber != nil {
		n++
	}
	return n
}

// place finds the place that a volume names, or the first that is free, on a controller
// of its kind or a new one, and takes it. Without a place it says why there is none. version is
// the virtual hardware version of the VM, 0 if it is not known.
func place(controllers *[]observe.Controller, v *vmv1alpha1.VirtualMachineVolume, version int32) (slot, string) {
	kind := bus(v)
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
				return slot{}, fmt.Sprintf("controllerBusNumber: controller %d of the class %s is %s, and not %s", have.Bus, slots.Class, have.Kind, kind)
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
			return slot{}, fmt.Sprintf("unitNumber: %s is taken by another device", have.Slot(*v.UnitNumber))
		}
	}
	return newSlot(controllers, v, buses, slots)
}

// newSlot takes a place on a new controller. IDE controllers are not added: every virtual
// machine has all that it can have.
func newSlot(controllers *[]observe.Controller, v *vmv1alpha1.VirtualMachineVolume, taken map[int32]bool, slots limits.Slots) (slot, string) {
	kind := bus(v)
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
		// The keys of new controllers are told apart by their place in the list.
		added := observe.Controller{Kind: kind, Key: newControllerKey - int32(len(*controllers)), Bus: number, Units: []int32{unit}}
		*controllers = append(*controllers, added)
		return slot{controller: added, unit: unit, added: true}, ""
	}
	if v.ControllerBusNumber != nil && (*v.ControllerBusNumber < 0 || *v.ControllerBusNumber >= slots.Controllers) {
		return slot{}, fmt.Sprintf("controllerBusNumber: %d is no controller of %s, which has %d from 0", *v.ControllerBusNumber, slots.Class, slots.Controllers)
	}
	return slot{}, "bus: the virtual machine has no free slot on " + kind + olderHardware(kind, slots)
}

// unusableUnit says that no disk can be at a unit of the bus.
func unusableUnit(unit int32, kind string, slots limits.Slots) string {
	return fmt.Sprintf("unitNumber: %d cannot be used on %s, whose units are 0 to %d%s", unit, kind, slots.Units-1, olderHardware(kind, slots))
}

// olderHardware says what to do if a newer virtual hardware version has more units of the bus.
func olderHardware(kind string, slots limits.Slots) string {
	newer := limits.SlotsOf(kind, limits.PVSCSIVersion)
	if newer.Units <= slots.Units {
		return ""
	}
	return fmt.Sprintf(" (0 to %d from virtual hardware version %d on: set minHardwareVersion)", newer.Units-1, limits.PVSCSIVersion)
}

// freeUnit is the unit that is wanted, or the first, if it is free.
func freeUnit(c observe.Controller, slots limits.Slots, wanted *int32) (int32, bool) {
	if wanted != nil {
		return *wanted, slots.Usable(*wanted) && !slices.Contains(c.Units, *wanted)
	}
	for unit := range slots.Units {
		if slots.Usable(unit) && !slices.Contains(c.Units, unit) {
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

// addController adds the controller of a slot if it is new.
func addController(vm *mo.VirtualMachine, s slot, spec *types.VirtualMachineConfigSpec) {
	if s.added {
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: newController(s.controller, pciKey(vm))})
	}
}

// hotplugs reports whether a running VM takes a disk on the controller, or gives one up. A controller
// that does not exist yet has a negative key.
func hotplugs(in *input, c observe.Controller) bool {
	d := in.Effective.Devices
	return hardware.PlugsDisk(c.Kind, c.Key >= 0, d != nil && isTrue(d.DisableHotplug))
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
func pciKey(vm *mo.VirtualMachine) int32 {
	if all := devicesOf[*types.VirtualPCIController](vm); len(all) > 0 {
		return all[0].Key
	}
	return 100
}

// controllerOf is the controller of a device.
func controllerOf(controllers []observe.Controller, device types.BaseVirtualDevice) observe.Controller {
	for _, c := range controllers {
		if c.Key == device.GetVirtualDevice().ControllerKey {
			return c
		}
	}
	return observe.Controller{}
}
