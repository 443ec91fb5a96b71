// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"strings"
)

// providerIDPrefix precedes the BIOS UUID in the provider ID of a node, as the cloud provider
// for vSphere writes it and Cluster API compares it.
const providerIDPrefix = "vsphere://"

// ProviderIDOf is the provider ID of the virtual machine with a BIOS UUID; empty without one.
func ProviderIDOf(biosUUID string) string {
	if biosUUID == "" {
		return ""
	}
	return providerIDPrefix + strings.ToLower(biosUUID)
}

// OwnProviderID is the provider ID that the virtual machine has, as far as that is known: by
// the BIOS UUID that vSphere shows or, for one that takes none over, that it is made with.
func (vm *VirtualMachine) OwnProviderID() string {
	var made string
	if f := vm.Spec.Firmware; f != nil && vm.Spec.InstanceUUID == "" {
		made = f.UUID
	}
	return ProviderIDOf(cmp.Or(vm.Status.BiosUUID, made))
}

// NamesAnotherVM is true for a provider ID in the spec that is not the virtual machine's own.
func (vm *VirtualMachine) NamesAnotherVM() bool {
	return vm.Spec.ProviderID != "" && !strings.EqualFold(vm.Spec.ProviderID, vm.OwnProviderID())
}
