// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const interfacesPrefix = Interfaces + "["

// Interface is the path of the network adapter of the interface called name.
func Interface(name string) string { return interfacesPrefix + name + "]" }

// modelSRIOV is the model of an adapter that is a part of one of the host's.
const modelSRIOV = "sriov"

// diffInterfaces compares the adapters of the interfaces, in the order of the names of
// these. An address that nobody gives stays as it is.
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
		if a, b := adapter(before), adapter(after); a != b {
			out = append(out, Difference{Path: Interface(name), Old: a, New: b, Effect: InterfaceEffect(before, after, running, desired)})
		}
	}
	return out
}

// adapter prints the adapter of an interface, and nothing for nil.
func adapter(i *vmv1alpha1.VirtualMachineNetworkInterface) string {
	if i == nil {
		return ""
	}
	if out := Adapter(i.Model, i.Network, i.MACAddress); out != "" {
		return out
	}
	return present
}

// interfaceNamed returns the interface called name, nil when there is none.
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

// InterfaceEffect returns when a running virtual machine takes a change of the adapter of one interface.
// A spec that names no interface, and does not turn the network off,
// leaves the adapters alone. A running virtual machine takes an adapter, gives one up and
// moves to another network; another model or address is another adapter to its guest.
func InterfaceEffect(before, after *vmv1alpha1.VirtualMachineNetworkInterface, running, desired *State) vmv1alpha1.RefreshEffect {
	switch {
	case after == nil && len(desired.Network.Interfaces) == 0 && !desired.Network.Disabled:
		return none
	case before == nil, after == nil:
		return liveIf(plugsAdapters(running, desired))
	}
	same := *after
	if same.MACAddress == "" {
		same.MACAddress = before.MACAddress
	}
	if adapter(&same) == adapter(before) {
		return none
	}
	same.Network = before.Network
	return liveIf(adapter(&same) == adapter(before) && before.Model != modelSRIOV)
}

// plugsAdapters says whether a running virtual machine takes an adapter, or gives one up.
// With SR-IOV nothing is plugged.
func plugsAdapters(running, desired *State) bool {
	return !isTrue(running.Devices.DisableHotplug) && !isTrue(desired.Devices.DisableHotplug) && !usesSRIOV(&running.Spec) && !usesSRIOV(&desired.Spec)
}

// usesSRIOV reports whether an adapter is a part of one of the host's.
func usesSRIOV(s *Spec) bool {
	return s.Network != nil && !s.Network.Disabled &&
		slices.ContainsFunc(s.Network.Interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterface) bool { return i.Model == modelSRIOV })
}

// assignInterface makes the interface called name in target as it is in desired.
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

// interfaceOf is the name in the path of an interface.
func interfaceOf(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, interfacesPrefix)
	return strings.TrimSuffix(name, "]"), ok
}
