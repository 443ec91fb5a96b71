// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package networks

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// Networks decides which addresses the server may connect to.
type Networks struct {
	// Allowed are the only networks that the server may connect to, regardless of other denials. If it is empty, all
	// addresses are allowed except the denied ones.
	Allowed []netip.Prefix
	// ManagementAddresses contains the addresses of the management cluster, which are denied. Nil means that none is known.
	Management *ManagementAddresses
}

// DeniedError is returned for an address that the server must not connect to.
type DeniedError struct {
	Address netip.Addr
	reason  string
}

// Error implements error.
func (e *DeniedError) Error() string { return fmt.Sprintf("%s %s", e.Address, e.reason) }

const (
	reasonDenied     = "is not an address that the server may connect to"
	reasonNotAllowed = "is not in a network that the server may connect to"
)

// denied are the networks that are denied by default: addresses of the server's own host and links, and cloud
// metadata services, which give credentials to any process of a host. Most metadata services are link-local
// (169.254.169.254, fe80::a9fe:a9fe).
var denied = parse(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
	"::/128", "::1/128", "fe80::/10", "ff00::/8",
	"100.100.100.200/32", // Alibaba Cloud
	"168.63.129.16/32",   // Azure
	"192.0.0.192/32",     // Oracle Cloud
	"fd00:ec2::/32",      // AWS: metadata, DNS, time and the credentials of EKS
	"fd00:42::42/128",    // Scaleway
	"fd20:ce::254/128",   // Google Cloud
)

// nat64 and sixToFour are networks whose addresses contain the IPv4 address that a gateway connects to.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// Check returns a DeniedError if the server must not connect to a. It returns another error if that cannot be decided
// yet.
func (n *Networks) Check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if len(n.Allowed) > 0 {
		if !contains(n.Allowed, a) {
			return &DeniedError{Address: a, reason: reasonNotAllowed}
		}
		return nil
	}
	inner := embedded(a)
	if contains(denied, a) || contains(denied, inner) {
		return &DeniedError{Address: a, reason: reasonDenied}
	}
	if n.Management == nil {
		return nil
	}
	return n.Management.check(a, inner)
}

// Control implements net.Dialer.Control. It checks the resolved address before a dialer connects to it.
func (n *Networks) Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address: %w", address, err)
	}
	return n.Check(to.Addr())
}

// embedded returns the IPv4 address that a gateway connects to for a, or a if there is none.
func embedded(a netip.Addr) netip.Addr {
	switch b := a.As16(); {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

func contains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

func parse(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
