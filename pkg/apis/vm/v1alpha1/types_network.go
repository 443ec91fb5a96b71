// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// VirtualMachineNetworkSpec configures the network interfaces and the guest's network.
type VirtualMachineNetworkSpec struct {
	// disabled creates the virtual machine without network interfaces.
	// +optional
	Disabled bool `json:"disabled,omitempty" protobuf:"varint,1,opt,name=disabled"`
	// hostName is the host name of the guest. Defaults, in the guest, to the name of the virtual machine.
	// +optional
	HostName string `json:"hostName,omitempty" protobuf:"bytes,2,opt,name=hostName"`
	// domainName is the DNS domain of the guest.
	// +optional
	DomainName string `json:"domainName,omitempty" protobuf:"bytes,3,opt,name=domainName"`
	// nameservers are the IP addresses of the guest's DNS servers.
	// +optional
	// +listType=atomic
	Nameservers []string `json:"nameservers,omitempty" protobuf:"bytes,4,rep,name=nameservers"`
	// searchDomains are the guest's DNS search domains.
	// +optional
	// +listType=atomic
	SearchDomains []string `json:"searchDomains,omitempty" protobuf:"bytes,5,rep,name=searchDomains"`
	// interfaces are the network interfaces. If the network is not disabled and none is specified at creation, the
	// server adds one named eth0.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Interfaces []VirtualMachineNetworkInterface `json:"interfaces,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,6,rep,name=interfaces"`
}

// VirtualMachineNetworkInterface is one network interface.
type VirtualMachineNetworkInterface struct {
	// name of the interface in this list, for example eth0.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// network is the name of a network of the zone. If no Zone object exists, it is the name or inventory path of a
	// vSphere network (standard or distributed port group). Defaults to the default network of the zone.
	// +optional
	Network string `json:"network,omitempty" protobuf:"bytes,2,opt,name=network"`
	// model of the adapter. Allowed: vmxnet3, e1000e, e1000, sriov, and virtio, which means vmxnet3. Defaults to the
	// value of the preference or else to vmxnet3.
	// +optional
	Model string `json:"model,omitempty" protobuf:"bytes,3,opt,name=model"`
	// macAddress is the hardware address. If unset, vSphere chooses one.
	// +optional
	MACAddress string `json:"macAddress,omitempty" protobuf:"bytes,4,opt,name=macAddress"`
	// addresses are the static IP addresses with prefix length, for example 192.0.2.5/24.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty" protobuf:"bytes,5,rep,name=addresses"`
	// gateway4 is the IPv4 gateway.
	// +optional
	Gateway4 string `json:"gateway4,omitempty" protobuf:"bytes,6,opt,name=gateway4"`
	// gateway6 is the IPv6 gateway.
	// +optional
	Gateway6 string `json:"gateway6,omitempty" protobuf:"bytes,7,opt,name=gateway6"`
	// dhcp4 requests an IPv4 address by DHCP. Mutually exclusive with static IPv4 addresses.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty" protobuf:"varint,8,opt,name=dhcp4"`
	// dhcp6 requests an IPv6 address by DHCP. Mutually exclusive with static IPv6 addresses.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty" protobuf:"varint,9,opt,name=dhcp6"`
	// mtu in bytes. Allowed: 576 to 9000.
	// +optional
	MTU *int32 `json:"mtu,omitempty" protobuf:"varint,10,opt,name=mtu"`
	// addressesFromPools are the pools to claim addresses from, at most 8. One address is claimed from each pool with an
	// IPAddressClaim of ipam.cluster.x-k8s.io in the same namespace. It is configured in the guest like a static
	// address.
	// +optional
	// +listType=atomic
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty" protobuf:"bytes,11,rep,name=addressesFromPools"`
}

// IPPoolReference refers to an address pool of a provider of ipam.cluster.x-k8s.io. A namespaced pool must be in the
// namespace of the virtual machine.
type IPPoolReference struct {
	// apiGroup of the pool, for example ipam.cluster.x-k8s.io.
	// +required
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// kind of the pool, for example InClusterIPPool or GlobalInClusterIPPool.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// name of the pool.
	// +required
	Name string `json:"name" protobuf:"bytes,3,opt,name=name"`
}
