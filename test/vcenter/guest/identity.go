// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import "github.com/vmware/govmomi/vim25/types"

// identity is the data that a customization has written into a guest, which uses it at every boot. The zero value is
// the identity of a guest that was not customized.
type identity struct {
	hostName string
	// addresses are those of the network cards that do not use DHCP, by device key.
	addresses map[int32][]string
}

// customized returns the identity that the simulator's customization, which runs at
// power on, has put into guest. It is false when there was none.
func customized(guest *types.GuestInfo) (identity, bool) {
	if guest == nil || guest.CustomizationInfo == nil ||
		guest.CustomizationInfo.CustomizationStatus != string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED) {
		return identity{}, false
	}
	id := identity{hostName: guest.HostName, addresses: map[int32][]string{}}
	for _, nic := range guest.Net {
		if len(nic.IpAddress) > 0 {
			id.addresses[nic.DeviceConfigId] = nic.IpAddress
		}
	}
	return id, id.hostName != "" || len(id.addresses) > 0
}
