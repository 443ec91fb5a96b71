// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const interfacesPrefix = Interfaces + "["

// Interface returns the path of the interface called name.
func Interface(name string) string { return interfacesPrefix + name + "]" }

// modelSRIOV is the model of an SR-IOV virtual function.
const modelSRIOV = "sriov"

// diffInterfaces compares the network adapters in the order of the interface names. A MAC address that the spec does
// not set is not compared.
func diffInterfaces(running, desired *State) []Difference {
	var names []string
	for _, s := range []*State{running, desired} {
		for i := range s.Network.Interfaces {
			names = append(names, s.Network.Interfaces[i].Name)
		}
	}
	slices.Sort(names)
	var out []Difference
	for _, name := range slices.Compact(names) {
		before, after := interfaceNamed(running, name), interfaceNamed(desired, name)
		if a, b := formatAdapter(before), formatAdapter(after); a != b {
			out = append(out, Difference{Path: Interface(name), Old: a, New: b, Effect: InterfaceEffect(before, after, running, desired)})
		}
	}
	return out
}

// formatAdapter formats the network adapter of an interface, or an empty string for nil.
func formatAdapter(i *vmv1alpha1.VirtualMachineNetworkInterface) string {
	if i == nil {
		return ""
	}
	if out := Adapter(i.Model, i.Network, i.MACAddress); out != "" {
		return out
	}
	return presentValue
}

// interfaceNamed returns the interface called name, or nil.
func interfaceNamed(s *State, name string) *vmv1alpha1.VirtualMachineNetworkInterface {
	if s.Network.Disabled {
		return nil
	}
	for i := range s.Network.Interfaces {
		if s.Network.Interfaces[i].Name == name {
			return &s.Network.Interfaces[i]
		}
	}
	return nil
}

// InterfaceEffect returns when a change of one interface's network adapter takes effect on a running virtual machine.
// If the desired spec has no interfaces and the network is not disabled, the adapters are not changed. Adapters can be
// added, removed and moved to another network live. Another model or MAC address means another adapter to the guest.
func InterfaceEffect(before, after *vmv1alpha1.VirtualMachineNetworkInterface, running, desired *State) vmv1alpha1.RefreshEffect {
	switch {
	case after == nil && len(desired.Network.Interfaces) == 0 && !desired.Network.Disabled:
		return none
	case before == nil, after == nil:
		return liveIf(canPlugAdapters(running, desired))
	}
	same := *after
	if same.MACAddress == "" {
		same.MACAddress = before.MACAddress
	}
	if formatAdapter(&same) == formatAdapter(before) {
		return none
	}
	same.Network = before.Network
	return liveIf(formatAdapter(&same) == formatAdapter(before) && before.Model != modelSRIOV)
}

// canPlugAdapters reports whether network adapters can be added and removed live. This is not possible with SR-IOV.
func canPlugAdapters(running, desired *State) bool {
	return !isTrue(running.Devices.DisableHotplug) && !isTrue(desired.Devices.DisableHotplug) && !usesSRIOV(&running.Spec) && !usesSRIOV(&desired.Spec)
}

// usesSRIOV reports whether an interface uses SR-IOV.
func usesSRIOV(s *Spec) bool {
	return s.Network != nil && !s.Network.Disabled &&
		slices.ContainsFunc(s.Network.Interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterface) bool { return i.Model == modelSRIOV })
}

// assignInterface copies the interface called name from desired to target.
func assignInterface(target, desired *State, name string) {
	after := interfaceNamed(desired, name)
	before := interfaceNamed(target, name)
	switch {
	case after == nil:
		target.Network.Interfaces = slices.DeleteFunc(target.Network.Interfaces,
			func(i vmv1alpha1.VirtualMachineNetworkInterface) bool { return i.Name == name })
		target.Network.Disabled = desired.Network.Disabled && len(target.Network.Interfaces) == 0
	case before == nil:
		target.Network.Disabled = false
		target.Network.Interfaces = append(target.Network.Interfaces, *after.DeepCopy())
	default:
		mac := before.MACAddress
		if *before = *after.DeepCopy(); before.MACAddress == "" {
			before.MACAddress = mac
		}
	}
}

// interfaceOf returns the interface name in a path.
func interfaceOf(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, interfacesPrefix)
	return strings.TrimSuffix(name, "]"), ok
}
