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

// AdaptersKey holds the device key of the adapter of each interface, as in
// eth0=4000,eth1=4001. vSphere chooses a key when it makes the device, and never changes
// it; only once the device is gone another may get it (vSphere API, VirtualDevice.key).
// So it holds through everything that happens to the VM, an object that was restored or
// made again included, and an adapter that somebody has replaced in its place counts as
// the same.
const AdaptersKey = "slipway.interfaces"

// NewAdapter stands in a record for the key of an adapter that the same reconfiguration
// adds.
const NewAdapter int32 = -1

// AdapterRecord says which device each interface has, by name.
type AdapterRecord map[string]int32

const newAdapter = "new"

// String is the value of AdaptersKey.
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

// ParseAdapters reads a value of AdaptersKey; what cannot be read is left out.
func ParseAdapters(value string) AdapterRecord {
	out := AdapterRecord{}
	// As many are removed as are added at once.
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

// Assignment says which adapter is whose.
type Assignment struct {
	// Cards are the adapters of the interfaces, in the order of these; nil for one that
	// has none.
	Cards []types.BaseVirtualEthernetCard
	// Removed are the adapters of interfaces that are not listed any more, by name.
	Removed map[string]types.BaseVirtualEthernetCard
	// Others are those of no interface: somebody has added them.
	Others []types.BaseVirtualEthernetCard
}

// Assign finds the adapters of interfaces. reported says which each had when that was last
// reported; it counts for a VM that has no record yet.
//
// An interface keeps the adapter that is recorded for it. One without takes an adapter
// that nobody has: the one with its MAC address, or else the first, those first whose
// adapter is recorded as new or has gone. So those of a VM of before there were records
// are found by their order.
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
	a.settle(interfaces, func(i *vmv1alpha1.VirtualMachineNetworkInterface, c *types.VirtualEthernetCard) bool {
		return i.MACAddress != "" && strings.EqualFold(i.MACAddress, c.MacAddress)
	})
	a.settle(interfaces, func(i *vmv1alpha1.VirtualMachineNetworkInterface, _ *types.VirtualEthernetCard) bool {
		_, recorded := record[i.Name]
		return recorded
	})
	a.settle(interfaces, func(*vmv1alpha1.VirtualMachineNetworkInterface, *types.VirtualEthernetCard) bool { return true })
	return a
}

// settle gives each interface that has none the first of the others that fits.
func (a *Assignment) settle(interfaces []vmv1alpha1.VirtualMachineNetworkInterface, fits func(*vmv1alpha1.VirtualMachineNetworkInterface, *types.VirtualEthernetCard) bool) {
	for n := range interfaces {
		if a.Cards[n] == nil {
			a.Cards[n] = a.take(func(c *types.VirtualEthernetCard) bool { return fits(&interfaces[n], c) })
		}
	}
}

// take removes the first of the others that is meant; nil when none is.
func (a *Assignment) take(meant func(*types.VirtualEthernetCard) bool) types.BaseVirtualEthernetCard {
	at := slices.IndexFunc(a.Others, func(c types.BaseVirtualEthernetCard) bool { return meant(c.GetVirtualEthernetCard()) })
	if at < 0 {
		return nil
	}
	card := a.Others[at]
	a.Others = slices.Delete(a.Others, at, at+1)
	return card
}

// Record is what is to be recorded of the adapters that are there.
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
