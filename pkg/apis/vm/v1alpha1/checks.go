// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// PowerOnBlockedMessage returns a message that lists the components that block power on of the VM, with their reasons. It returns
// "" if none does.
func (vm *VirtualMachine) PowerOnBlockedMessage() string {
	return vm.blockedMessage(CheckPowerOnPrefix)
}

// DeletionBlockedMessage returns a message that lists the components that block the deletion of the VM, with their reasons. It
// returns "" if none does.
func (vm *VirtualMachine) DeletionBlockedMessage() string {
	return vm.blockedMessage(CheckDeletePrefix)
}

func (vm *VirtualMachine) blockedMessage(prefix string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(vm.Annotations)) {
		component, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if why := vm.Annotations[key]; why != "" {
			component += " (" + why + ")"
		}
		all = append(all, component)
	}
	if len(all) == 0 {
		return ""
	}
	return "held by annotation " + prefix + conditions.JoinLimited(all, ", ")
}
