// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package networks

import (
	"errors"
	"net/netip"
	"testing"
)

func TestAddressesThatOnlyTheServerCanReachAreRefused(t *testing.T) {
	services := Networks{Denied: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")}}
	unknown := Networks{Unknown: errors.New("nobody knows")}
	allowed := Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.96.0.10/32")}, Denied: services.Denied, Unknown: unknown.Unknown}
	for _, test := range []struct {
		of      Networks
		address string
		want    bool
	}{
		{services, "192.0.2.1", true},
		{services, "2001:db8::1", true},
		{services, "10.95.255.255", true},
		{services, "10.96.0.1", false},
		{services, "::ffff:10.96.0.1", false},
		{services, "127.0.0.1", false},
		{services, "::1", false},
		{services, "::ffff:127.0.0.1", false},
		{services, "169.254.169.254", false},
		{services, "fe80::1", false},
		{services, "224.0.0.1", false},
		{services, "255.255.255.255", false},
		{services, "0.0.0.0", false},
		{services, "::", false},
		{unknown, "192.0.2.1", false},
		{allowed, "127.0.0.1", true},
		{allowed, "10.96.0.10", true},
		{allowed, "10.96.0.11", false},
		{allowed, "192.0.2.1", false},
	} {
		if err := test.of.Check(netip.MustParseAddr(test.address)); (err == nil) != test.want {
			t.Errorf("%s: %v, want allowed %t", test.address, err, test.want)
		}
	}
}
