// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// modelSRIOV is the model of adapters that are a part of one of the host's.
const modelSRIOV = "sriov"

// network compares the adapters of the interfaces, each by itself.
func (c *comparison) network() {
	spec := c.want.Effective.Network
	if spec == nil || (len(spec.Interfaces) == 0 && !spec.Disabled) {
		return
	}
	if c.adopted {
		c.adoptedNetwork(spec)
		return
	}
	interfaces := interfacesOf(c.want.Effective)
	for _, i := range interfaces {
		if _, ok := c.want.Backings[i.Network]; !ok {
			return
		}
	}
	have := observe.Assign(c.vm, interfaces, c.want.Adapters)
	for _, name := range sortedKeys(have.Removed) {
		c.unplug(hardware.Interface(name), have.Removed[name], c.plugs(have.Removed[name]), record(have, interfaces, name, 0))
	}
	for n := range interfaces {
		i := &interfaces[n]
		want := newCard(*i, c.want.Backings[i.Network], newAdapterKey-int32(n))
		c.adapter(have, interfaces, n, want)
	}
	// Whoever has added an adapter by hand sees it go at a restart, not at once.
	for _, card := range have.Others {
		c.unplug(hardware.Interfaces, card, false, nil)
	}
}

// interfacesOf are the interfaces that there shall be.
func interfacesOf(e *vmv1alpha1.VirtualMachineInstanceSpec) []vmv1alpha1.VirtualMachineNetworkInterface {
	if e == nil || e.Network == nil || e.Network.Disabled {
		return nil
	}
	return e.Network.Interfaces
}

// adapter makes the adapter of the interface at n as want.
func (c *comparison) adapter(have observe.Assignment, interfaces []vmv1alpha1.VirtualMachineNetworkInterface, n int, want types.BaseVirtualEthernetCard) {
	name, card := interfaces[n].Name, have.Cards[n]
	d := Difference{Path: hardware.Interface(name)}
	var changes []types.BaseVirtualDeviceConfigSpec
	var recorded func(*types.VirtualMachineConfigSpec)
	if card == nil {
		d.Live = c.plugs(want)
		changes = []types.BaseVirtualDeviceConfigSpec{change(types.VirtualDeviceConfigSpecOperationAdd, want)}
		recorded = record(have, interfaces, name, observe.NewAdapter)
	} else {
		d.Running = describe(card)
		if changes, want = reconcileCard(card, want); len(changes) > 1 {
			recorded = record(have, interfaces, name, observe.NewAdapter)
		}
		d.Live = reconnects(card, want)
	}
	d.Desired = describe(want)
	d.set = func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, changes...)
		if recorded != nil {
			recorded(s)
		}
	}
	c.add(d)
}

// unplug removes an adapter.
func (c *comparison) unplug(path string, card types.BaseVirtualEthernetCard, live bool, recorded func(*types.VirtualMachineConfigSpec)) {
	c.add(Difference{Path: path, Running: describe(card), Live: live, set: func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, change(types.VirtualDeviceConfigSpecOperationRemove, card))
		if recorded != nil {
			recorded(s)
		}
	}})
}

// record notes in a reconfiguration what becomes of the adapter of one interface: 0 for
// one that is removed. Whatever else is recorded is brought up to date with it.
func record(have observe.Assignment, interfaces []vmv1alpha1.VirtualMachineNetworkInterface, name string, key int32) func(*types.VirtualMachineConfigSpec) {
	return func(s *types.VirtualMachineConfigSpec) {
		at := slices.IndexFunc(s.ExtraConfig, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == observe.AdaptersKey })
		if at < 0 {
			at = len(s.ExtraConfig)
			s.ExtraConfig = append(s.ExtraConfig, &types.OptionValue{Key: observe.AdaptersKey, Value: have.Record(interfaces).String()})
		}
		option := s.ExtraConfig[at].GetOptionValue()
		value, _ := option.Value.(string)
		all := observe.ParseAdapters(value)
		if key != 0 {
			all[name] = key
		} else {
			delete(all, name)
		}
		option.Value = all.String()
	}
}

// recordAdapters brings the record up to date with other changes: it is no reason for one.
func (c *comparison) recordAdapters() {
	spec := c.want.Effective.Network
	if len(c.out) == 0 || c.vm.Config == nil || spec == nil {
		return
	}
	interfaces := interfacesOf(c.want.Effective)
	c.recordThe(observe.Assign(c.vm, interfaces, c.want.Adapters), interfaces)
}

// recordThe brings the record up to date with the adapters that there are.
func (c *comparison) recordThe(have observe.Assignment, interfaces []vmv1alpha1.VirtualMachineNetworkInterface) {
	all := have.Record(interfaces)
	c.add(Difference{Path: "metadata.interfaces", Running: extra(c, observe.AdaptersKey), Desired: all.String(), Live: true, FirstBoot: true,
		set: record(have, interfaces, "", 0)})
}

// plugs is true when a running VM takes an adapter, or gives it up. With SR-IOV nothing is
// plugged (vSphere Networking, SR-IOV Support: availability of features).
func (c *comparison) plugs(card types.BaseVirtualEthernetCard) bool {
	if d := c.want.Effective.Devices; d != nil && isTrue(d.DisableHotplug) || strings.EqualFold(extra(c, hotplugKey), "FALSE") {
		return false
	}
	for _, other := range append(observe.EthernetCards(c.vm), card) {
		if model(other) == modelSRIOV {
			return false
		}
	}
	return true
}

// reconnects is true when nothing but the network differs: a running VM moves to another.
// The address and the model are those of the hardware that the guest has found at its
// start.
func reconnects(have, want types.BaseVirtualEthernetCard) bool {
	return model(have) == model(want) && model(have) != modelSRIOV &&
		lower(have.GetVirtualEthernetCard().MacAddress) == lower(want.GetVirtualEthernetCard().MacAddress)
}

// reconcileCard returns the edits that make have as want, and the result. What nobody
// here sets stays as it is.
func reconcileCard(have, want types.BaseVirtualEthernetCard) ([]types.BaseVirtualDeviceConfigSpec, types.BaseVirtualEthernetCard) {
	h, w := have.GetVirtualEthernetCard(), want.GetVirtualEthernetCard()
	if w.MacAddress == "" {
		w.MacAddress, w.AddressType = h.MacAddress, h.AddressType
	}
	if describe(have) == describe(want) {
		return nil, want
	}
	if model(have) != model(want) {
		w.MacAddress, w.AddressType = requested(want, h)
		return []types.BaseVirtualDeviceConfigSpec{
			change(types.VirtualDeviceConfigSpecOperationRemove, have),
			change(types.VirtualDeviceConfigSpecOperationAdd, want),
		}, want
	}
	edited := like(have)
	e := edited.GetVirtualEthernetCard()
	e.Backing, e.MacAddress, e.AddressType = w.Backing, w.MacAddress, w.AddressType
	return []types.BaseVirtualDeviceConfigSpec{change(types.VirtualDeviceConfigSpecOperationEdit, edited)}, edited
}

// requested drops an address that was only taken over from the old adapter, so
// that vSphere chooses one for the new.
func requested(want types.BaseVirtualEthernetCard, old *types.VirtualEthernetCard) (mac, addressType string) {
	w := want.GetVirtualEthernetCard()
	if w.AddressType == string(types.VirtualEthernetCardMacTypeManual) && w.MacAddress != old.MacAddress {
		return w.MacAddress, w.AddressType
	}
	return "", string(types.VirtualEthernetCardMacTypeGenerated)
}

func change(op types.VirtualDeviceConfigSpecOperation, nic types.BaseVirtualEthernetCard) types.BaseVirtualDeviceConfigSpec {
	return &types.VirtualDeviceConfigSpec{Operation: op, Device: nic.(types.BaseVirtualDevice)}
}

// newCard builds an adapter; virtio means vmxnet3, and so does no model.
func newCard(i vmv1alpha1.VirtualMachineNetworkInterface, backing types.BaseVirtualDeviceBackingInfo, key int32) types.BaseVirtualEthernetCard {
	var nic types.BaseVirtualEthernetCard
	switch i.Model {
	case "e1000":
		nic = &types.VirtualE1000{}
	case "e1000e":
		nic = &types.VirtualE1000e{}
	case modelSRIOV:
		nic = &types.VirtualSriovEthernetCard{}
	default:
		nic = &types.VirtualVmxnet3{}
	}
	card := nic.GetVirtualEthernetCard()
	card.Key = key
	card.Backing = backing
	card.AddressType = string(types.VirtualEthernetCardMacTypeGenerated)
	card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
	if i.MACAddress != "" {
		card.AddressType, card.MacAddress = string(types.VirtualEthernetCardMacTypeManual), strings.ToLower(i.MACAddress)
	}
	return nic
}

// describe is what decides whether two adapters are the same.
func describe(nic types.BaseVirtualEthernetCard) string {
	card := nic.GetVirtualEthernetCard()
	return hardware.Adapter(model(nic), backingName(card.Backing), card.MacAddress)
}

func model(nic types.BaseVirtualEthernetCard) string {
	switch nic.(type) {
	case *types.VirtualE1000:
		return "e1000"
	case *types.VirtualE1000e:
		return "e1000e"
	case *types.VirtualSriovEthernetCard:
		return modelSRIOV
	case *types.VirtualVmxnet3, *types.VirtualVmxnet3Vrdma:
		return "vmxnet3"
	}
	return fmt.Sprintf("%T", nic)
}

func backingName(b types.BaseVirtualDeviceBackingInfo) string {
	switch b := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return b.Port.PortgroupKey
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		return b.OpaqueNetworkId
	}
	return "nothing"
}
