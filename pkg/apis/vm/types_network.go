// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

// VirtualMachineNetworkSpec configures interfaces and the guest's network.
type VirtualMachineNetworkSpec struct {
	// Disabled gives the virtual machine no network interface.
	Disabled bool
	// HostName is the host name of the guest. Defaults, in the guest, to the
	// name of the virtual machine.
	HostName string
	// DomainName is the DNS domain of the guest.
	DomainName string
	// Nameservers are the IP addresses of the guest's DNS servers.
	Nameservers []string
	// SearchDomains are the guest's DNS search domains.
	SearchDomains []string
	// Interfaces are the network interfaces. The server adds one named eth0
	// when the network is not disabled and none is given at creation.
	Interfaces []VirtualMachineNetworkInterface
}

// VirtualMachineNetworkInterface is one network interface.
type VirtualMachineNetworkInterface struct {
	// Name of the interface in this list, for example eth0.
	Name string
	// Network is the vSphere network (standard or distributed port group) by
	// name or inventory path. The server's default network when unset.
	Network string
	// Model of the adapter: vmxnet3, e1000e, e1000, sriov or virtio, which
	// means vmxnet3. A preference or vmxnet3 when unset.
	Model string
	// MACAddress is the hardware address. vSphere chooses one when unset.
	MACAddress string
	// Addresses are static IP addresses with prefix length, for example
	// 192.0.2.5/24.
	Addresses []string
	// Gateway4 is the IPv4 gateway.
	Gateway4 string
	// Gateway6 is the IPv6 gateway.
	Gateway6 string
	// DHCP4 asks for IPv4 addresses by DHCP. Not together with IPv4 addresses.
	DHCP4 *bool
	// DHCP6 asks for IPv6 addresses by DHCP. Not together with IPv6 addresses.
	DHCP6 *bool
	// MTU in bytes, 576 to 9000.
	MTU *int32
}
