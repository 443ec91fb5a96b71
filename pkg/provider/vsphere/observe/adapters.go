// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// AdaptersKey is the key of the adapters' device keys by interface, for example eth0=4000,eth1=4001. vSphere
// chooses a key when it creates a device and never changes it. Another device may get the key after the device was
// removed (vSphere API, VirtualDevice.key). The record therefore stays valid when the object is restored or
// recreated. An adapter that a user has replaced, and that has the same key, counts as the same adapter.
const AdaptersKey = "slipway.interfaces"

// NewAdapter represents the key of an adapter that the same reconfiguration adds.
const NewAdapter int32 = -1

// AdapterRecord contains the adapters' device keys by interface name.
type AdapterRecord map[string]int32

const newAdapter = "new"

// String returns the value for AdaptersKey.
func (r AdapterRecord) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		value := newAdapter
		if r[name] != NewAdapter {
			value = strconv.Itoa(int(r[name]))
		}
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, ",")
}

// ParseAdapters parses a value of AdaptersKey. It leaves out invalid entries.
func ParseAdapters(value string) AdapterRecord {
	out := AdapterRecord{}
	// A record may contain as many removed adapters as added ones.
	for _, part := range strings.SplitN(value, ",", 2*limits.MaxInterfaces) {
		name, device, ok := strings.Cut(part, "=")
		key, err := strconv.ParseInt(device, 10, 32)
		switch {
		case !ok || name == "":
		case device == newAdapter:
			out[name] = NewAdapter
		case err == nil && key > 0:
			out[name] = int32(key)
		}
	}
	return out
}

// Assignment assigns adapters to interfaces.
type Assignment struct {
	// Cards are the adapters in the order of the interfaces. An entry is nil if the interface has no adapter.
	Cards []types.BaseVirtualEthernetCard
	// Removed are the adapters of interfaces that are no longer listed, by interface name.
	Removed map[string]types.BaseVirtualEthernetCard
	// Others are adapters without an interface. Users have added them in vSphere.
	Others []types.BaseVirtualEthernetCard
}

// Assign assigns adapters to interfaces. reported is the assignment that was last reported. It is used for a VM
// that has no record yet.
//
// An interface keeps its recorded adapter. An interface without an adapter gets an unassigned adapter: the adapter with
// its MAC address, otherwise the first unassigned adapter. Interfaces whose adapter is recorded as new or was removed
// are served first. VMs without a record are therefore assigned by order.
func Assign(vm *mo.VirtualMachine, interfaces []vmv1alpha1.VirtualMachineNetworkInterface, reported AdapterRecord) Assignment {
	record := reported
	if value := ExtraConfig(vm, AdaptersKey); value != "" {
		record = ParseAdapters(value)
	}
	a := Assignment{Cards: make([]types.BaseVirtualEthernetCard, len(interfaces)), Others: EthernetCards(vm)}
	for n := range interfaces {
		a.Cards[n] = a.take(func(c *types.VirtualEthernetCard) bool { return c.Key == record[interfaces[n].Name] })
	}
	for _, name := range slices.Sorted(maps.Keys(record)) {
		listed := slices.ContainsFunc(interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterface) bool { return i.Name == name })
		if listed {
			continue
		}
		if card := a.take(func(c *types.VirtualEthernetCard) bool { return c.Key == record[name] }); card != nil {
			if a.Removed == nil {
				a.Removed = map[string]types.BaseVirtualEthernetCard{}
			}
			a.Removed[name] = card
		}
	}
	a.assignRest(interfaces, func(i *vmv1alpha1.VirtualMachineNetworkInterface, c *types.VirtualEthernetCard) bool {
		return i.MACAddress != "" && strings.EqualFold(i.MACAddress, c.MacAddress)
	})
	a.assignRest(interfaces, func(i *vmv1alpha1.VirtualMachineNetworkInterface, _ *types.VirtualEthernetCard) bool {
		_, recorded := record[i.Name]
		return recorded
	})
	a.assignRest(interfaces, func(*vmv1alpha1.VirtualMachineNetworkInterface, *types.VirtualEthernetCard) bool { return true })
	return a
}

// assignRest assigns the first matching unassigned adapter to each interface that has none.
func (a *Assignment) assignRest(interfaces []vmv1alpha1.VirtualMachineNetworkInterface, fits func(*vmv1alpha1.VirtualMachineNetworkInterface, *types.VirtualEthernetCard) bool) {
	for n := range interfaces {
		if a.Cards[n] == nil {
			a.Cards[n] = a.take(func(c *types.VirtualEthernetCard) bool { return fits(&interfaces[n], c) })
		}
	}
}

// take removes and returns the first unassigned adapter that matches. It returns nil if there is none.
func (a *Assignment) take(matches func(*types.VirtualEthernetCard) bool) types.BaseVirtualEthernetCard {
	at := slices.IndexFunc(a.Others, func(c types.BaseVirtualEthernetCard) bool { return matches(c.GetVirtualEthernetCard()) })
	if at < 0 {
		return nil
	}
	card := a.Others[at]
	a.Others = slices.Delete(a.Others, at, at+1)
	return card
}

// Record returns the record of the assigned adapters.
func (a *Assignment) Record(interfaces []vmv1alpha1.VirtualMachineNetworkInterface) AdapterRecord {
	out := AdapterRecord{}
	for n, card := range a.Cards {
		if card != nil {
			out[interfaces[n].Name] = card.GetVirtualEthernetCard().Key
		}
	}
	for name, card := range a.Removed {
		out[name] = card.GetVirtualEthernetCard().Key
	}
	return out
}
