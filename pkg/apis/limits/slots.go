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
	// Units of one controller. The 64 units of new paravirtual controllers are not
	// counted on.
	Units int32
}

// SlotsOf returns the places on a bus, which is what a volume names: of SCSI for what is
// none of the other classes.
func SlotsOf(bus string) Slots {
	switch bus {
	case "sata":
		return Slots{Class: bus, Controllers: 4, Units: 30}
	case "nvme":
		return Slots{Class: bus, Controllers: 4, Units: 15}
	case "ide":
		return Slots{Class: bus, Controllers: 2, Units: 2}
	}
	return Slots{Class: "scsi", Controllers: 4, Units: 16}
}

// Usable reports whether a disk can be at a unit.
func (s Slots) Usable(unit int32) bool {
	return unit >= 0 && unit < s.Units && (s.Class != "scsi" || unit != SCSIControllerUnit)
}
