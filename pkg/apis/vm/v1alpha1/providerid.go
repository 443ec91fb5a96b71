// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"strings"
)

// providerIDPrefix precedes the BIOS UUID in the provider ID of a node. The vSphere cloud provider and Cluster API use
// this format.
const providerIDPrefix = "vsphere://"

// ProviderIDOf returns the provider ID for a BIOS UUID, or "" if biosUUID is empty.
func ProviderIDOf(biosUUID string) string {
	if biosUUID == "" {
		return ""
	}
	return providerIDPrefix + strings.ToLower(biosUUID)
}

// OwnProviderID returns the provider ID of the virtual machine, or "" if it is not known yet. It is derived from the
// BIOS UUID that vSphere reports. Before that, it is derived from spec.firmware.uuid, unless the VM adopts an existing
// vSphere VM.
func (vm *VirtualMachine) OwnProviderID() string {
	var planned string
	if f := vm.Spec.Firmware; f != nil && vm.Spec.InstanceUUID == "" {
		planned = f.UUID
	}
	return ProviderIDOf(cmp.Or(vm.Status.BiosUUID, planned))
}

// HasForeignProviderID reports whether spec.providerID differs from the virtual machine's own provider ID.
func (vm *VirtualMachine) HasForeignProviderID() bool {
	return vm.Spec.ProviderID != "" && !strings.EqualFold(vm.Spec.ProviderID, vm.OwnProviderID())
}
