// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/yaml"
)

// seed is the data that cloud-init finds in a virtual machine.
type seed struct {
	hostName string
	// ethernets is the network configuration, by the names of its entries; nil leaves
	// all network cards to DHCP.
	ethernets map[string]ethernet
	// guestInfo is true if the seed was read from guestinfo.
	guestInfo bool
	// instanceID is the ID by which cloud-init recognizes a guest that it has configured before.
	instanceID string
}

// after returns the seed that the guest has at a boot after one with previous. cloud-init writes the network
// configuration only for a new instance ID (its default update events are boot-new-instance alone); the module
// update_hostname runs at every boot. An entry that was not there before is new to the guest.
func (s *seed) after(previous *seed) *seed {
	if s == nil || previous == nil || !s.guestInfo || s.instanceID != previous.instanceID {
		return s
	}
	out := *s
	out.ethernets = maps.Clone(s.ethernets)
	for name, e := range previous.ethernets {
		if now, ok := s.ethernets[name]; ok {
			e.Match = now.Match
			out.ethernets[name] = e
		}
	}
	return &out
}

// ethernet is an entry of cloud-init's network configuration, version 2.
type ethernet struct {
	Match     *match `json:"match"`
	DHCP4     bool   `json:"dhcp4"`
	DHCP6     bool   `json:"dhcp6"`
	Addresses []any  `json:"addresses"`
}

type match struct {
	Name       string `json:"name"`
	MACAddress string `json:"macaddress"`
	Driver     string `json:"driver"`
}

// maxSeed is the maximum of unpacked data, in bytes. vSphere accepts about 64 KiB.
const maxSeed = 1 << 20

// findSeed returns the data for cloud-init. OVF properties of the guest take precedence, and guestinfo is not read
// then. That is why VM Operator (bootstrap_cloudinit.go) and Cluster API's provider (issue 1746) remove the vApp
// configuration. It returns nil if there is no data.
func findSeed(vm *mo.VirtualMachine) (*seed, error) {
	if vm.Config == nil {
		return nil, nil
	}
	if vm.Config.VAppConfig != nil {
		info := vm.Config.VAppConfig.GetVmConfigInfo()
		if len(info.Property) != 0 && len(info.OvfEnvironmentTransport) != 0 {
			return &seed{hostName: property(info, "hostname")}, nil
		}
	}
	extra := object.OptionValueList(vm.Config.ExtraConfig)
	text, ok := extra.GetString("guestinfo.metadata")
	if !ok || text == "" {
		return nil, nil
	}
	encoding, _ := extra.GetString("guestinfo.metadata.encoding")
	metadata, err := decoded(text, encoding)
	if err != nil {
		return nil, fmt.Errorf("guestinfo.metadata: %w", err)
	}
	s, err := parse(metadata)
	if s != nil {
		s.guestInfo = true
	}
	return s, err
}

// Written returns the change of a virtual machine whose guest has set a variable. It is not a reconfiguration and
// does not change config.changeVersion: vmware/pyvmomi, tests/fixtures/test_json_vm_explode_default.yaml (vCenter
// 8.0.3), has a version of 2023-12-12 next to values that the guest has written on 2023-12-14.
func Written(vm *mo.VirtualMachine, key, value string) types.PropertyChange {
	extra := object.OptionValueList{&types.OptionValue{Key: key, Value: value}}.Join(vm.Config.ExtraConfig...)
	return types.PropertyChange{Name: "config.extraConfig", Val: []types.BaseOptionValue(extra)}
}

// advertised is the variable that cloud-init's data source for VMware sets when it has read its data and the network
// is up (DataSourceVMware.setup): the address of the guest. It stays set after the guest has shut down.
func (s *seed) advertised(vm *mo.VirtualMachine, changes []types.PropertyChange) []types.PropertyChange {
	if s == nil || !s.guestInfo {
		return nil
	}
	for _, c := range changes {
		address, ok := c.Val.(string)
		if c.Name != "guest.ipAddress" || !ok || address == "" {
			continue
		}
		return []types.PropertyChange{Written(vm, "guestinfo.local-ipv4", address)}
	}
	return nil
}

func property(info *types.VmConfigInfo, id string) string {
	for _, p := range info.Property {
		if p.Id == id {
			if p.Value != "" {
				return p.Value
			}
			return p.DefaultValue
		}
	}
	return ""
}

// decoded undoes the encodings of cloud-init's VMware data source.
func decoded(text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case "base64", "b64":
		return base64.StdEncoding.DecodeString(text)
	case "gzip+base64", "gz+b64":
		packed, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, maxSeed))
	}
	return nil, fmt.Errorf("encoding %q is not known", encoding)
}

// parse reads metadata; its network is a mapping or, with an encoding, a text.
func parse(metadata []byte) (*seed, error) {
	var m struct {
		InstanceID string `json:"instance-id"`
		HostName   string `json:"local-hostname"`
		Network    any    `json:"network"`
		Encoding   string `json:"network.encoding"`
	}
	if err := yaml.Unmarshal(metadata, &m); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	s := &seed{hostName: m.HostName, instanceID: m.InstanceID}
	if m.Network == nil {
		return s, nil
	}
	text, isText := m.Network.(string)
	var config []byte
	var err error
	if isText {
		config, err = decoded(text, m.Encoding)
	} else {
		config, err = yaml.Marshal(m.Network)
	}
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	var n struct {
		Version   int                 `json:"version"`
		Ethernets map[string]ethernet `json:"ethernets"`
		Network   *struct {
			Ethernets map[string]ethernet `json:"ethernets"`
		} `json:"network"`
	}
	if err := yaml.Unmarshal(config, &n); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	if s.ethernets = n.Ethernets; n.Network != nil {
		s.ethernets = n.Network.Ethernets
	}
	if s.ethernets == nil {
		s.ethernets = map[string]ethernet{}
	}
	return s, nil
}

// interfaceName returns udev's name for a network card, by the PCI slot that vSphere assigns: ens192, ens224, ens256,
// ens161, … for vmxnet3, and from ens33 on for the others (observed in guests, not documented).
func interfaceName(device types.BaseVirtualDevice, i int) string {
	if _, ok := device.(*types.VirtualVmxnet3); !ok {
		return fmt.Sprintf("ens%d", 33+i)
	}
	return fmt.Sprintf("ens%d", []int{192, 224, 256, 161}[i%4]+i/4)
}

// entryFor returns the configuration of a network card, if there is one. An entry
// without match applies to the interface of its name.
func (s *seed) entryFor(device types.BaseVirtualDevice, i int) (ethernet, bool) {
	name, mac, driver := interfaceName(device, i), "", "e1000"
	if _, ok := device.(*types.VirtualVmxnet3); ok {
		driver = "vmxnet3"
	}
	if card, ok := device.(types.BaseVirtualEthernetCard); ok {
		mac = card.GetVirtualEthernetCard().MacAddress
	}
	for key, e := range s.ethernets {
		if e.Match == nil {
			if key == name {
				return e, true
			}
			continue
		}
		fits := func(want, have string) bool {
			ok, err := path.Match(strings.ToLower(want), strings.ToLower(have))
			return want == "" || err == nil && ok
		}
		if *e.Match != (match{}) && fits(e.Match.Name, name) && fits(e.Match.MACAddress, mac) && fits(e.Match.Driver, driver) {
			return e, true
		}
	}
	return ethernet{}, false
}

// configure gives a network card the addresses of its entry instead of those of DHCP.
func (s *seed) configure(device types.BaseVirtualDevice, i int, nic *types.GuestNicInfo) {
	e, _ := s.entryFor(device, i)
	var addresses []string
	config := &types.NetIpConfigInfo{}
	add := func(address string, prefix int32) {
		addresses = append(addresses, address)
		config.IpAddress = append(config.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress: address, PrefixLength: prefix, State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
		})
	}
	for _, a := range e.Addresses {
		if prefix, err := netip.ParsePrefix(fmt.Sprint(a)); err == nil {
			add(prefix.Addr().String(), int32(prefix.Bits()))
		}
	}
	for _, a := range nic.IpConfig.IpAddress { // those of DHCP
		if v4 := strings.Contains(a.IpAddress, "."); v4 && e.DHCP4 || !v4 && e.DHCP6 {
			add(a.IpAddress, a.PrefixLength)
		}
	}
	nic.IpAddress, nic.IpConfig = addresses, config
}
