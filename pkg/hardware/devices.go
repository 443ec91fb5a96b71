// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// interfaces prints the adapters; what the guest calls them is no hardware.
func interfaces(s *Spec) string {
	return adapters(s.Network.Interfaces, nil)
}

// adapters prints interfaces, with the address of the one in the same place of known
// where none is given: such an address stays.
func adapters(list, known []vmv1alpha1.VirtualMachineNetworkInterface) string {
	out := make([]string, 0, len(list))
	for i := range list {
		nic := &list[i]
		mac := nic.MACAddress
		if mac == "" && i < len(known) {
			mac = known[i].MACAddress
		}
		out = append(out, Adapter(nic.Model, nic.Network, mac))
	}
	return strings.Join(out, ", ")
}

// interfacesEffect: a spec that names no interface, and does not turn the network off,
// leaves the adapters alone; an address that nobody gives stays.
func interfacesEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	have, want := running.Network.Interfaces, desired.Network.Interfaces
	if len(want) == 0 && !desired.Network.Disabled || adapters(have, nil) == adapters(want, have) {
		return none
	}
	return restart
}

func tpm(t *vmv1alpha1.VirtualMachineTPM) string {
	if t == nil || t.Enabled != nil && !*t.Enabled {
		return ""
	}
	return Present
}

// Present is how a device is printed of which there is one or none.
const Present = "present"

func videoType(s *Spec) string {
	if s.Devices.Video == nil {
		return ""
	}
	return s.Devices.Video.Type
}
