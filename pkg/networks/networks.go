// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package networks

import (
	"fmt"
	"net/netip"
	"slices"
)

// Networks are the addresses that may be connected to.
type Networks struct {
	// Allowed, if there are any, are the only ones.
	Allowed []netip.Prefix
	// Denied are left out of all that Allowed does not name.
	Denied []netip.Prefix
	// Unknown, if it is not nil, is why Denied is not known: without Allowed nothing may be
	// connected to then.
	Unknown error
}

// Check is an error for an address that may not be connected to. Without Allowed these are
// those that lead to the server itself or to what only its own link has: loopback,
// link-local, multicast and unspecified.
func (n *Networks) Check(a netip.Addr) error {
	a = a.Unmap()
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case len(n.Allowed) > 0:
		if !slices.ContainsFunc(n.Allowed, within) {
			return fmt.Errorf("%s is in none of the networks that an administrator lets the server connect to", a)
		}
	case n.Unknown != nil:
		return n.Unknown
	case a.IsLoopback(), a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified(), a == broadcast, slices.ContainsFunc(n.Denied, within):
		return fmt.Errorf("%s is not an address that the server may connect to", a)
	}
	return nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
