// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

// SCSIControllerUnit is the unit number on a SCSI bus that the controller itself uses.
const SCSIControllerUnit = 7

// Slots describes the disk slots of a virtual machine on one class of controllers, from VMware's configuration
// maximums.
type Slots struct {
	// Class is scsi, sata, nvme or ide. All types of SCSI controllers share the bus numbers.
	Class string
	// Controllers is the maximum number of controllers of the class.
	Controllers int32
	// Units is the number of units of a controller, including the unit of the controller itself.
	Units int32
}

// PVSCSIVersion is the virtual hardware version from which a paravirtual SCSI controller supports 64 disks (VMware's
// configuration maximums since vSphere 6.7). Its units are 0 to 64 without 7. VM Operator counts units in the same way
// (SCSIControllerSpec.MaxSlots).
const PVSCSIVersion = 14

// SlotsOf returns the slots on a bus for a virtual machine with the hardware version. Buses other than sata, nvme and
// ide are SCSI. An empty bus, virtio and scsi mean a paravirtual SCSI controller.
func SlotsOf(bus string, hardwareVersion int32) Slots {
	switch bus {
	case "sata":
		return Slots{Class: bus, Controllers: 4, Units: 30}
	case "nvme":
		return Slots{Class: bus, Controllers: 4, Units: 15}
	case "ide":
		return Slots{Class: bus, Controllers: 2, Units: 2}
	case "", "pvscsi", "virtio", "scsi":
		if hardwareVersion >= PVSCSIVersion {
			return Slots{Class: "scsi", Controllers: 4, Units: 65}
		}
	}
	return Slots{Class: "scsi", Controllers: 4, Units: 16}
}

// Usable reports whether a disk can use the unit.
func (s Slots) Usable(unit int32) bool {
	return unit >= 0 && unit < s.Units && (s.Class != "scsi" || unit != SCSIControllerUnit)
}
