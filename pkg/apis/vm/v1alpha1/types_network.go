// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// VirtualMachineNetworkSpec configures interfaces and the guest's network.
type VirtualMachineNetworkSpec struct {
	// Disabled gives the virtual machine no network interface.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// HostName is the host name of the guest. Defaults, in the guest, to the
	// name of the virtual machine.
	// +optional
	HostName string `json:"hostName,omitempty"`
	// DomainName is the DNS domain of the guest.
	// +optional
	DomainName string `json:"domainName,omitempty"`
	// Nameservers are the IP addresses of the guest's DNS servers.
	// +optional
	// +listType=atomic
	Nameservers []string `json:"nameservers,omitempty"`
	// SearchDomains are the guest's DNS search domains.
	// +optional
	// +listType=atomic
	SearchDomains []string `json:"searchDomains,omitempty"`
	// Interfaces are the network interfaces. The server adds one named eth0
	// when the network is not disabled and none is given at creation.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Interfaces []VirtualMachineNetworkInterface `json:"interfaces,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// VirtualMachineNetworkInterface is one network interface.
type VirtualMachineNetworkInterface struct {
	// Name of the interface in this list, for example eth0.
	Name string `json:"name"`
	// Network is the vSphere network (standard or distributed port group) by
	// name or inventory path. The server's default network when unset.
	// +optional
	Network string `json:"network,omitempty"`
	// Model of the adapter: vmxnet3, e1000e, e1000, sriov or virtio, which
	// means vmxnet3. A preference or vmxnet3 when unset.
	// +optional
	Model string `json:"model,omitempty"`
	// MACAddress is the hardware address. vSphere chooses one when unset.
	// +optional
	MACAddress string `json:"macAddress,omitempty"`
	// Addresses are static IP addresses with prefix length, for example
	// 192.0.2.5/24.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
	// Gateway4 is the IPv4 gateway.
	// +optional
	Gateway4 string `json:"gateway4,omitempty"`
	// Gateway6 is the IPv6 gateway.
	// +optional
	Gateway6 string `json:"gateway6,omitempty"`
	// DHCP4 asks for IPv4 addresses by DHCP. Not together with IPv4 addresses.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`
	// DHCP6 asks for IPv6 addresses by DHCP. Not together with IPv6 addresses.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`
	// MTU in bytes, 576 to 9000.
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
}
