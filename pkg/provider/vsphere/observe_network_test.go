// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// On a Kubernetes node every pod has an interface. Such interfaces must not change the VM's status.
func TestGuestInterfaces_AreIgnoredWithoutAnAdapter(t *testing.T) {
	vm := sample()
	before := observe.Of(vm, nil)
	for n := range 100 {
		vm.Guest.Net = append(vm.Guest.Net, types.GuestNicInfo{DeviceConfigId: -1, MacAddress: fmt.Sprint(n), IpAddress: []string{fmt.Sprintf("10.244.0.%d", n)}})
	}
	vm.Guest.IpAddress = "10.244.0.7"
	if got := observe.Of(vm, nil); fmt.Sprint(got.Network) != fmt.Sprint(before.Network) {
		t.Errorf("network = %v, want %v, unchanged by the pods", got.Network, before.Network)
	}
}

func TestPrimaryAddress_IsChosenByTheGuestAmongItsAdapters(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.9": "192.0.2.9", "172.17.0.1": "192.0.2.8", "": "192.0.2.8"} {
		vm := sample()
		vm.Guest.IpAddress = address
		if got := observe.Of(vm, nil).Network.PrimaryIP4; got != want {
			t.Errorf("guest.ipAddress %q: primary address %s, want %s", address, got, want)
		}
	}
	vm := sample()
	vm.Guest.Net, vm.Guest.IpAddress = nil, "192.0.2.77"
	if got := observe.Of(vm, nil).Network.PrimaryIP4; got != "192.0.2.77" {
		t.Errorf("without adapter addresses: primary address %q, want guest.ipAddress 192.0.2.77", got)
	}
}

func TestAdapterAddresses_AreLimited(t *testing.T) {
	vm := sample()
	for n := range 300 {
		vm.Guest.Net[1].IpAddress = append(vm.Guest.Net[1].IpAddress, fmt.Sprintf("192.0.2.%d", n%250))
	}
	if got := len(observe.Of(vm, nil).Network.Interfaces[0].IPAddresses); got != 32 {
		t.Errorf("%d addresses, want 32", got)
	}
}
