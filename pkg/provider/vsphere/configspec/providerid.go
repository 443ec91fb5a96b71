// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// refusedProviderID refuses to create a VM that would not be the one that is
// named. The provider ID says which VM this is, and never takes one over: a BIOS
// UUID is not unique in vSphere, for a copy of a VM may keep it.
func refusedProviderID(in *input, say func(format string, args ...any)) {
	if in.vm.Config != nil || in.ProviderID == "" {
		return
	}
	made := "one with a firmware.uuid that vSphere chooses"
	if fw := in.Effective.Firmware; fw != nil && fw.UUID != "" {
		made = vmv1alpha1.ProviderIDOf(fw.UUID)
	}
	if !strings.EqualFold(in.ProviderID, made) {
		say("providerID: %s is not that of the VM to be created, %s; instanceUUID takes over a VM that exists", in.ProviderID, made)
	}
}

// deviatingProviderID names a provider ID that the VM does not have. One that it lacks because
// its BIOS UUID is yet to be set is no other thing than that.
func deviatingProviderID(in *input, say func(format string, args ...any)) {
	if in.vm.Config == nil || in.ProviderID == "" {
		return
	}
	if fw := in.Effective.Firmware; fw != nil && !in.adopted && strings.EqualFold(in.ProviderID, vmv1alpha1.ProviderIDOf(fw.UUID)) {
		return
	}
	if have := vmv1alpha1.ProviderIDOf(in.config.Uuid); !strings.EqualFold(in.ProviderID, have) {
		say("providerID %s (that of the VM is %s)", in.ProviderID, have)
	}
}
