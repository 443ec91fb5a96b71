// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// modelSRIOV is the model of SR-IOV adapters, which use a virtual function of a host adapter.
const modelSRIOV = "sriov"

// adapters compares the adapters of the interfaces one by one.
type adapters struct {
	*input
	interfaces []vmv1alpha1.VirtualMachineNetworkInterface
	// have assigns adapters to interfaces.
	have observe.Assignment
}

func compareNetwork(in *input) []Difference {
	spec := in.Effective.Network
	if spec == nil || (len(spec.Interfaces) == 0 && !spec.Disabled) {
		return nil
	}
	interfaces := interfacesOf(in.Effective)
	a := &adapters{in, interfaces, observe.Assign(in.vm, interfaces, in.Adapters)}
	if in.adopted {
		return a.compareAdopted()
	}
	for _, i := range interfaces {
		if _, ok := in.NetworkBackings[i.Network]; !ok {
			return nil
		}
	}
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(a.have.Removed)) {
		card := a.have.Removed[name]
		out = append(out, removeAdapter(hardware.InterfacePath(name), card, a.isLive(card, nil), recordAdapter(a.have, interfaces, name, 0)))
	}
	for n := range interfaces {
		i := &interfaces[n]
		out = append(out, a.compare(n, newCard(*i, in.NetworkBackings[i.Network], newAdapterKey-int32(n))))
	}
	// An adapter that was added in vSphere is removed at a restart, not immediately.
	for _, card := range a.have.Others {
		out = append(out, removeAdapter(hardware.Interfaces, card, false, nil))
	}
	return out
}

// interfacesOf returns the desired interfaces.
func interfacesOf(e *vmv1alpha1.VirtualMachineInstanceSpec) []vmv1alpha1.VirtualMachineNetworkInterface {
	if e == nil || e.Network == nil || e.Network.Disabled {
		return nil
	}
	return e.Network.Interfaces
}

// compare compares the adapter of interface n with want.
func (a *adapters) compare(n int, want types.BaseVirtualEthernetCard) Difference {
	name, card := a.interfaces[n].Name, a.have.Cards[n]
	d := Difference{Path: hardware.InterfacePath(name)}
	changes := []types.BaseVirtualDeviceConfigSpec{adapterChange(types.VirtualDeviceConfigSpecOperationAdd, want)}
	added := card == nil
	if card != nil {
		d.Running = describe(card)
		if observe.IsCustomizing(a.vm) {
			// vSphere disconnects the adapters until the customization is complete.
			want.GetVirtualEthernetCard().Connectable = card.GetVirtualEthernetCard().Connectable
		}
		changes, want = reconcileCard(card, want)
		added = len(changes) > 1
	}
	d.Desired, d.Live = describe(want), a.isLive(card, want) || onlyConnects(card, want)
	d.set = func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, changes...)
		if added {
			recordAdapter(a.have, a.interfaces, name, observe.NewAdapter)(s)
		}
	}
	return d
}

// isLive reports whether a running VM supports the change of an adapter.
func (a *adapters) isLive(have, want types.BaseVirtualEthernetCard) bool {
	return hardware.InterfaceEffect(interfaceOf(have), interfaceOf(want), a.running, a.desired) == vmv1alpha1.RefreshEffectLive
}

// interfaceOf describes an adapter as an interface on its backing's network. It returns nil for nil.
func interfaceOf(nic types.BaseVirtualEthernetCard) *vmv1alpha1.VirtualMachineNetworkInterface {
	if nic == nil {
		return nil
	}
	card := nic.GetVirtualEthernetCard()
	return &vmv1alpha1.VirtualMachineNetworkInterface{Model: modelOf(nic), Network: backingName(card.Backing), MACAddress: card.MacAddress}
}

func removeAdapter(path string, card types.BaseVirtualEthernetCard, live bool, recorded func(*types.VirtualMachineConfigSpec)) Difference {
	return Difference{Path: path, Running: describe(card), Live: live, set: func(s *types.VirtualMachineConfigSpec) {
		s.DeviceChange = append(s.DeviceChange, adapterChange(types.VirtualDeviceConfigSpecOperationRemove, card))
		if recorded != nil {
			recorded(s)
		}
	}}
}

// recordAdapter adds the adapter key of one interface to a reconfiguration; key 0 removes the interface. It also
// updates the rest of the adapter record.
func recordAdapter(have observe.Assignment, interfaces []vmv1alpha1.VirtualMachineNetworkInterface, name string, key int32) func(*types.VirtualMachineConfigSpec) {
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

// recordAdapters returns the difference that updates the adapter record to the VM's current adapters.
func recordAdapters(in *input) Difference {
	interfaces := interfacesOf(in.Effective)
	have := observe.Assign(in.vm, interfaces, in.Adapters)
	return Difference{Path: "metadata.interfaces", Running: in.extra(observe.AdaptersKey), Desired: have.Record(interfaces).String(), Live: true, FirstBoot: true,
		set: recordAdapter(have, interfaces, "", 0)}
}

// reconcileCard returns the edits that change have to want, and the resulting adapter. Properties that want does
// not set stay unchanged.
func reconcileCard(have, want types.BaseVirtualEthernetCard) ([]types.BaseVirtualDeviceConfigSpec, types.BaseVirtualEthernetCard) {
	h, w := have.GetVirtualEthernetCard(), want.GetVirtualEthernetCard()
	if w.MacAddress == "" {
		w.MacAddress, w.AddressType = h.MacAddress, h.AddressType
	}
	if describe(have) == describe(want) {
		return nil, want
	}
	if modelOf(have) != modelOf(want) {
		w.MacAddress, w.AddressType = requestedMAC(want, h)
		return []types.BaseVirtualDeviceConfigSpec{
			adapterChange(types.VirtualDeviceConfigSpecOperationRemove, have),
			adapterChange(types.VirtualDeviceConfigSpecOperationAdd, want),
		}, want
	}
	edited := cloneCard(have)
	e := edited.GetVirtualEthernetCard()
	e.Backing, e.MacAddress, e.AddressType = w.Backing, w.MacAddress, w.AddressType
	if startsDisconnected(have) && !startsDisconnected(want) {
		connect := *e.Connectable
		connect.StartConnected, connect.Connected = true, true
		e.Connectable = &connect
	}
	return []types.BaseVirtualDeviceConfigSpec{adapterChange(types.VirtualDeviceConfigSpecOperationEdit, edited)}, edited
}

// requestedMAC drops a MAC address that was copied from the old adapter, so that vSphere chooses one for the new
// adapter.
func requestedMAC(want types.BaseVirtualEthernetCard, old *types.VirtualEthernetCard) (mac, addressType string) {
	w := want.GetVirtualEthernetCard()
	if w.AddressType == string(types.VirtualEthernetCardMacTypeManual) && w.MacAddress != old.MacAddress {
		return w.MacAddress, w.AddressType
	}
	return "", string(types.VirtualEthernetCardMacTypeGenerated)
}

func adapterChange(op types.VirtualDeviceConfigSpecOperation, nic types.BaseVirtualEthernetCard) types.BaseVirtualDeviceConfigSpec {
	return deviceChange(op, nic.(types.BaseVirtualDevice))
}

// newCard returns a new adapter. An empty model and virtio mean vmxnet3.
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

// describe returns a description of an adapter. Two adapters with the same description are considered equal.
func describe(nic types.BaseVirtualEthernetCard) string {
	card := nic.GetVirtualEthernetCard()
	out := hardware.FormatAdapter(modelOf(nic), backingName(card.Backing), card.MacAddress)
	if startsDisconnected(nic) {
		out += ", not connected at power on"
	}
	return out
}

// startsDisconnected reports whether an adapter is not connected when the VM is powered on.
func startsDisconnected(nic types.BaseVirtualEthernetCard) bool {
	c := nic.GetVirtualEthernetCard().Connectable
	return c != nil && !c.StartConnected
}

// onlyConnects reports whether a change only connects an adapter, which a running VM supports. An SR-IOV adapter
// cannot be connected while the VM is running.
func onlyConnects(have, want types.BaseVirtualEthernetCard) bool {
	if have == nil || modelOf(want) == modelSRIOV || !startsDisconnected(have) || startsDisconnected(want) {
		return false
	}
	connected := cloneCard(have)
	connected.GetVirtualEthernetCard().Connectable = nil
	return describe(connected) == describe(want)
}

// deviatingAdapters reports adapters that are disconnected while the VM is running. They are not reconnected,
// because the guest may have disconnected them.
func deviatingAdapters(in *input, reportf func(format string, args ...any)) {
	if in.adopted || in.vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || observe.IsCustomizing(in.vm) {
		return
	}
	interfaces := interfacesOf(in.Effective)
	for n, card := range observe.Assign(in.vm, interfaces, in.Adapters).Cards {
		if card == nil {
			continue
		}
		if c := card.GetVirtualEthernetCard().Connectable; c != nil && c.StartConnected && !c.Connected {
			reportf("%s (the adapter is disconnected: connect it in vSphere or in the guest, or restart the virtual machine)", hardware.InterfacePath(interfaces[n].Name))
		}
	}
}

func modelOf(nic types.BaseVirtualEthernetCard) string {
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
