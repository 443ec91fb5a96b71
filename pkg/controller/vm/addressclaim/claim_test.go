// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var front = vmv1alpha1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "front"}

func vmNamed(name, uid string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
}

func TestClaimName_IsUniqueAndStable(t *testing.T) {
	back := front
	back.Name = "back"
	long := strings.Repeat("a", 200) + "." + strings.Repeat("b", 52)
	seen := map[string]string{}
	for what, got := range map[string]string{
		"a":                           name(vmNamed("web", "1"), "eth0", front),
		"a later VM":                  name(vmNamed("web", "2"), "eth0", front),
		"an interface":                name(vmNamed("web", "1"), "eth1", front),
		"a pool":                      name(vmNamed("web", "1"), "eth0", back),
		"a long name":                 name(vmNamed(long, "1"), "eth0", front),
		"another VM with a long name": name(vmNamed(long, "2"), "eth0", front),
	} {
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s are both %q", what, other, got)
		}
		seen[got] = what
		if wrong := validation.IsDNS1123Subdomain(got); len(wrong) > 0 {
			t.Errorf("%s: %q %v", what, got, wrong)
		}
	}
	if again := name(vmNamed("web", "1"), "eth0", front); seen[again] != "a" || !strings.HasPrefix(again, "web-eth0-") {
		t.Errorf("the name of the repeated claim is %q", again)
	}
}

func address(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{kind: IPAddress, apiVersion: ipam.cluster.x-k8s.io/v1beta2, metadata: {name: a}, spec: {"+spec+"}}"), &o.Object); err != nil {
		t.Fatal(err)
	}
	// A client decodes integers in this way.
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAssignedAddress_RequiresAValidAddressOfTheClaim(t *testing.T) {
	const own = "claimRef: {name: web-eth0-1}, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: front}, "
	want := vmv1alpha1.ClaimedAddress{ClaimName: "web-eth0-1", Interface: "eth0", Pool: front}
	for name, tc := range map[string]struct{ spec, address, gateway, wrong string }{
		"of its claim":           {own + "address: 192.0.2.5, prefix: 24, gateway: 192.0.2.1", "192.0.2.5/24", "192.0.2.1", ""},
		"without gateway":        {own + "address: 2001:DB8::5, prefix: 64", "2001:db8::5/64", "", ""},
		"of another claim":       {strings.Replace(own, "web-eth0-1", "other", 1) + "address: 192.0.2.5, prefix: 24", "", "", `belongs to IPAddressClaim "other"`},
		"of no claim":            {"address: 192.0.2.5, prefix: 24", "", "", `belongs to IPAddressClaim ""`},
		"of another pool":        {strings.Replace(own, "name: front", "name: back", 1) + "address: 192.0.2.5, prefix: 24", "", "", `"back", not to InClusterIPPool.ipam.cluster.x-k8s.io "front"`},
		"no address":             {own + "address: dhcp, prefix: 24", "", "", "is not an IP address"},
		"an address with a zone": {own + `address: "fe80::1%eth0", prefix: 64`, "", "", "is not an IP address"},
		"no prefix":              {own + "address: 192.0.2.5", "", "", "spec.prefix is 0, must be between 1 and 32"},
		"a prefix of IPv6":       {own + "address: 192.0.2.5, prefix: 64", "", "", "spec.prefix is 64, must be between 1 and 32"},
		"a gateway of IPv6":      {own + `address: 192.0.2.5, prefix: 24, gateway: "2001:db8::1"`, "", "", "is not an address of the same family as 192.0.2.5"},
		"a word for a gateway":   {own + "address: 192.0.2.5, prefix: 24, gateway: none", "", "", "is not an address of the same family"},
		"a number for a name":    {"claimRef: {name: 1}, address: 192.0.2.5, prefix: 24", "", "", `belongs to IPAddressClaim ""`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := assignedAddress(address(t, tc.spec), want)
			switch {
			case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)):
				t.Errorf("error %v, want %q", err, tc.wrong)
			case tc.wrong == "" && (err != nil || got.Address != tc.address || got.Gateway != tc.gateway || got.ClaimName != want.ClaimName):
				t.Errorf("got %+v, error %v; want %s by %q", got, err, tc.address, tc.gateway)
			}
		})
	}
}

func TestAddAddresses_AppendsToTheAddressesOfTheSpec(t *testing.T) {
	front6 := front
	front6.Name = "front6"
	network := &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{
		{Name: "eth0", Addresses: []string{"192.0.2.4/24"}, AddressesFromPools: []vmv1alpha1.IPPoolReference{front, front6}},
		{Name: "eth1", Gateway4: "203.0.113.1", AddressesFromPools: []vmv1alpha1.IPPoolReference{front}},
		{Name: "eth2"},
	}}
	before := network.DeepCopy()
	got := AddAddresses(network, []vmv1alpha1.ClaimedAddress{
		{Interface: "eth0", Pool: front, Address: "192.0.2.5/24", Gateway: "192.0.2.1"},
		{Interface: "eth0", Pool: front6, Address: "2001:db8::5/64", Gateway: "2001:db8::1"},
		{Interface: "eth1", Pool: front, Address: "203.0.113.5/24", Gateway: "203.0.113.254"},
		{Interface: "eth1", Pool: front6, Address: "2001:db8::6/64"}, // assigned before, no longer requested
		{Interface: "eth2", Pool: front},
	})
	want := before.DeepCopy()
	want.Interfaces[0].Addresses, want.Interfaces[0].Gateway4, want.Interfaces[0].Gateway6 = []string{"192.0.2.4/24", "192.0.2.5/24", "2001:db8::5/64"}, "192.0.2.1", "2001:db8::1"
	want.Interfaces[1].Addresses = []string{"203.0.113.5/24"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, network); diff != "" {
		t.Errorf("the spec itself was changed (-want +got):\n%s", diff)
	}
}

func TestWaitMessage_TruncatesTheReason(t *testing.T) {
	claim := address(t, "")
	if err := unstructured.SetNestedSlice(claim.Object, []any{
		map[string]any{"type": "Other", "status": "False", "reason": "No"},
		map[string]any{"type": "Ready", "status": "False", "reason": "PoolExhausted", "message": strings.Repeat("x", 5000)},
		map[string]any{"type": int64(7)},
	}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	got := waitMessage(claim, vmv1alpha1.ClaimedAddress{ClaimName: "web-eth0-1", Pool: front})
	if !strings.HasPrefix(got, `IPAddressClaim "web-eth0-1" waits for an address of InClusterIPPool.ipam.cluster.x-k8s.io "front": PoolExhausted, xxx`) || len(got) > 1024 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
