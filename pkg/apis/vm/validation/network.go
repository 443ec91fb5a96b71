// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net"
	"net/netip"
	"regexp"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// minMTU is the minimum MTU that every IPv4 host must support (RFC 791), in bytes.
	minMTU = 576
	// maxMTU is the MTU of jumbo frames in vSphere, in bytes.
	maxMTU = 9000
	// macLength is the length of an Ethernet address in bytes.
	macLength = 6
)

// validateNetwork checks the interfaces and the guest's network.
func validateNetwork(network *vmv1alpha1.VirtualMachineNetworkSpec, path *field.Path) field.ErrorList {
	if network == nil {
		return nil
	}
	var errs field.ErrorList
	if network.HostName != "" {
		errs = append(errs, invalid(network.HostName, path.Child("hostName"), apivalidation.NameIsDNSLabel(network.HostName, false))...)
	}
	errs = append(errs, validateName(network.DomainName, path.Child("domainName"))...)
	for i, server := range network.Nameservers {
		if _, err := netip.ParseAddr(server); err != nil {
			errs = append(errs, field.Invalid(path.Child("nameservers").Index(i), server, "must be an IP address"))
		}
	}
	for i, domain := range network.SearchDomains {
		errs = append(errs, validateRequiredName(strings.TrimSuffix(domain, "."), path.Child("searchDomains").Index(i))...)
	}
	interfaces := path.Child("interfaces")
	if len(network.Interfaces) > limits.MaxInterfaces {
		return append(errs, field.TooMany(interfaces, len(network.Interfaces), limits.MaxInterfaces))
	}
	names, macs := sets.New[string](), sets.New[string]()
	for i := range network.Interfaces {
		errs = append(errs, validateItemName(network.Interfaces[i].Name, names, interfaces.Index(i).Child("name"))...)
		errs = append(errs, validateMAC(network.Interfaces[i].MACAddress, macs, interfaces.Index(i).Child("macAddress"))...)
		errs = append(errs, validateInterface(&network.Interfaces[i], interfaces.Index(i))...)
	}
	return errs
}

// validateMAC checks an optional MAC address and adds it to seen.
func validateMAC(address string, seen sets.Set[string], path *field.Path) field.ErrorList {
	if address == "" {
		return nil
	}
	mac, err := net.ParseMAC(address)
	if err != nil || len(mac) != macLength {
		return field.ErrorList{field.Invalid(path, address, "must be an Ethernet address, for example 00:50:56:12:34:56")}
	}
	if mac[0]&1 != 0 {
		return field.ErrorList{field.Invalid(path, address, "must not be a multicast address: the first byte must be even")}
	}
	if seen.Has(mac.String()) {
		return field.ErrorList{field.Duplicate(path, address)}
	}
	seen.Insert(mac.String())
	return nil
}

// validateInterface checks an interface, except for its name and MAC address.
func validateInterface(nic *vmv1alpha1.VirtualMachineNetworkInterface, path *field.Path) field.ErrorList {
	errs := validateEnum(nic.Model, path.Child("model"), "vmxnet3", "e1000e", "e1000", "sriov", "virtio")
	if nic.MTU != nil {
		errs = append(errs, validateRange(int64(*nic.MTU), minMTU, maxMTU, path.Child("mtu"))...)
	}
	dhcp4, dhcp6 := nic.DHCP4 != nil && *nic.DHCP4, nic.DHCP6 != nil && *nic.DHCP6
	seen := sets.New[netip.Prefix]()
	for i, address := range nic.Addresses {
		addressPath := path.Child("addresses").Index(i)
		prefix, err := netip.ParsePrefix(address)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(addressPath, address, "must be an IP address with prefix length, for example 192.0.2.5/24"))
		case seen.Has(prefix):
			errs = append(errs, field.Duplicate(addressPath, address))
		case prefix.Addr().Is4() && dhcp4:
			errs = append(errs, field.Invalid(addressPath, address, "may not be an IPv4 address together with dhcp4"))
		case prefix.Addr().Is6() && dhcp6:
			errs = append(errs, field.Invalid(addressPath, address, "may not be an IPv6 address together with dhcp6"))
		default:
			seen.Insert(prefix)
		}
	}
	errs = append(errs, validatePools(nic.AddressesFromPools, path.Child("addressesFromPools"))...)
	if gateway := nic.Gateway4; gateway != "" {
		if ip, err := netip.ParseAddr(gateway); err != nil || !ip.Is4() {
			errs = append(errs, field.Invalid(path.Child("gateway4"), gateway, "must be an IPv4 address"))
		}
	}
	if gateway := nic.Gateway6; gateway != "" {
		if ip, err := netip.ParseAddr(gateway); err != nil || !ip.Is6() {
			errs = append(errs, field.Invalid(path.Child("gateway6"), gateway, "must be an IPv6 address"))
		}
	}
	return errs
}

// poolKindFormat matches the kind of an address pool (API ipam.cluster.x-k8s.io, poolRef.kind).
var poolKindFormat = regexp.MustCompile(`^[a-zA-Z]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)

// validatePools checks references to address pools.
func validatePools(pools []vmv1alpha1.IPPoolReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[vmv1alpha1.IPPoolReference]()
	for i, pool := range pools {
		at := path.Index(i)
		errs = append(errs, validateRequiredName(pool.APIGroup, at.Child("apiGroup"))...)
		errs = append(errs, validateRequiredName(pool.Name, at.Child("name"))...)
		if !poolKindFormat.MatchString(pool.Kind) {
			errs = append(errs, field.Invalid(at.Child("kind"), pool.Kind, "must be a kind, for example InClusterIPPool: at most 63 letters, digits and hyphens"))
		}
		if seen.Has(pool) {
			errs = append(errs, field.Duplicate(at, pool.Name))
		}
		seen.Insert(pool)
	}
	return errs
}
