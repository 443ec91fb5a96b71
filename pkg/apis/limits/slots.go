// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

// SCSIControllerUnit is the unit of a SCSI bus that its controller has itself.
const SCSIControllerUnit = 7

// Slots are the places of a virtual machine for disks on one class of controllers, from
// VMware's configuration maximums.
type Slots struct {
	// Class is scsi, sata, nvme or ide. The kinds of SCSI controllers share the numbers
	// of their buses.
	Class string
	// Controllers of the class that a virtual machine can have.
	Controllers int32
	// Units of one controller, also that of the controller itself.
	Units int32
}

// PVSCSIVersion is the virtual hardware version from which a paravirtual SCSI controller has
// 64 disks (VMware's configuration maximums from vSphere 6.7 on), at the units 0 to 64 without 7.
// VM Operator counts units in the same way (SCSIControllerSpec.MaxSlots).
const PVSCSIVersion = 14

// SlotsOf returns the places on a bus, which is what a volume names, of a virtual machine with
// that virtual hardware version: of SCSI for what is none of the other classes. Without a bus, it
// is a paravirtual SCSI controller, as with virtio and scsi.
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

// Usable reports whether a disk can be at a unit.
func (s Slots) Usable(unit int32) bool {
	return unit >= 0 && unit < s.Units && (s.Class != "scsi" || unit != SCSIControllerUnit)
}
