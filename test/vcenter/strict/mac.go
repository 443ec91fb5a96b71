// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// vCenter assigns MAC addresses from 00:50:56:80:00:00 to 00:50:56:bf:ff:ff.
const (
	macPrefix = "00:50:56:"
	macFirst  = 0x80_00_00
	macLast   = 0xbf_ff_ff
)

// macPool assigns every network card an address of its own.
type macPool struct {
	mu   sync.Mutex
	next uint32
	used map[string]bool
}

func newMACPool() *macPool { return &macPool{next: macFirst, used: map[string]bool{}} }

// take marks the addresses of the devices as used.
func (p *macPool) take(devices []types.BaseVirtualDevice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range devices {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			p.used[strings.ToLower(card.GetVirtualEthernetCard().MacAddress)] = true
		}
	}
}

// assign sets an address for every added card without one.
func (p *macPool) assign(changes []types.BaseVirtualDeviceConfigSpec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		device, ok := change.Device.(types.BaseVirtualEthernetCard)
		if !ok || change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		card := device.GetVirtualEthernetCard()
		if card.MacAddress != "" {
			p.used[strings.ToLower(card.MacAddress)] = true
			continue
		}
		card.MacAddress = p.free()
		if card.AddressType == "" || card.AddressType == string(types.VirtualEthernetCardMacTypeGenerated) {
			card.AddressType = string(types.VirtualEthernetCardMacTypeAssigned)
		}
	}
}

// free returns the next unused address; when all four million have been given
// out it starts again from the first.
func (p *macPool) free() string {
	for range macLast - macFirst {
		n := p.next
		if p.next++; p.next > macLast {
			p.next = macFirst
		}
		mac := fmt.Sprintf("%s%02x:%02x:%02x", macPrefix, n>>16&0xff, n>>8&0xff, n&0xff)
		if !p.used[mac] {
			p.used[mac] = true
			return mac
		}
	}
	return fmt.Sprintf("%s%02x:%02x:%02x", macPrefix, macFirst>>16, 0, 0)
}
