// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// refuseProviderID refuses to create a VM whose BIOS UUID would not match spec.providerID. A provider ID does not
// adopt a VM, because a BIOS UUID is not unique in vSphere: a copy of a VM may keep it.
func refuseProviderID(in *input, reportf func(format string, args ...any)) {
	if in.vm.Config != nil || in.ProviderID == "" {
		return
	}
	created := "whose firmware.uuid vSphere chooses"
	if fw := in.Effective.Firmware; fw != nil && fw.UUID != "" {
		created = vmv1alpha1.ProviderIDOf(fw.UUID)
	}
	if !strings.EqualFold(in.ProviderID, created) {
		reportf("providerID: %s does not match the VM to be created, %s; to adopt an existing VM, set instanceUUID", in.ProviderID, created)
	}
}

// deviatingProviderID reports a provider ID that differs from the VM's. It ignores a difference that disappears
// when the VM's BIOS UUID is set.
func deviatingProviderID(in *input, reportf func(format string, args ...any)) {
	if in.vm.Config == nil || in.ProviderID == "" {
		return
	}
	if fw := in.Effective.Firmware; fw != nil && !in.adopted && strings.EqualFold(in.ProviderID, vmv1alpha1.ProviderIDOf(fw.UUID)) {
		return
	}
	if have := vmv1alpha1.ProviderIDOf(in.config.Uuid); !strings.EqualFold(in.ProviderID, have) {
		reportf("providerID %s (the VM has %s)", in.ProviderID, have)
	}
}
