// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	// extensionKey and managedType say in vCenter who manages a VM. No extension of
	// that key has to be registered: its clients show their default icon then (vSphere
	// API, VirtualMachineConfigSpec.managedBy).
	extensionKey = "dev.slipway"
	managedType  = "VirtualMachine"
	// diskUUIDKey lets the guest see the UUIDs of its disks, by which storage drivers
	// find theirs.
	diskUUIDKey = "disk.enableUUID"
)

// setOnce sets what a VM gets when it is made and what is an administrator's to change
// from then on.
func setOnce(in *input) []Difference {
	if in.exists() {
		return nil
	}
	note := fmt.Sprintf("VirtualMachine %s of Slipway. Change that object: what is changed here may be changed back.", in.Owner.Key)
	return []Difference{
		compareOption(in, "metadata.name", diskUUIDKey, "TRUE", false, false),
		{Path: "metadata.name", Desired: note, set: func(s *types.VirtualMachineConfigSpec) {
			s.Annotation = note
			s.ManagedBy = &types.ManagedByInfo{ExtensionKey: extensionKey, Type: managedType}
		}},
	}
}
