// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

func TestAddresses_AreValidUniqueAndStable(t *testing.T) {
	seen := map[string]string{}
	for n := 1; n < 140_000; n += 7 { // beyond the second octet
		for card := range 2 {
			ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", n)}
			v4, v6 := addresses(ref, card)
			for _, text := range []string{v4, v6} {
				address, err := netip.ParseAddr(text)
				if err != nil {
					t.Fatalf("%s, card %d: %v", ref.Value, card, err)
				}
				if last := address.AsSlice(); address.Is4() && (last[3] == 0 || last[3] == 255) {
					t.Errorf("%s, card %d: %s is no address of a host", ref.Value, card, text)
				}
				owner := fmt.Sprintf("%s/%d", ref.Value, card)
				if other, taken := seen[text]; taken {
					t.Fatalf("%s and %s both have %s", owner, other, text)
				}
				seen[text] = owner
			}
			if again, _ := addresses(ref, card); again != v4 {
				t.Errorf("%s, card %d: first %s, then %s", ref.Value, card, v4, again)
			}
		}
	}
}

func TestHostName_IsALabel(t *testing.T) {
	long := "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-g23456789"
	for name, want := range map[string]string{
		"web-0": "web-0", "Web_0.prod": "web-0-prod", "-x-": "x", long: long[:63],
	} {
		if got := hostName(name); got != want {
			t.Errorf("host name of %q is %q, want %q", name, got, want)
		}
	}
}
