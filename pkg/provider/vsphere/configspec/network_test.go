// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// What the network synchronizer of a pod network does by plugging and unplugging is
// a change of the adapters on vSphere.
func TestAdaptersFollowTheInterfaces(t *testing.T) {
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	eth0, eth1 := nic{Name: "eth0"}, nic{Name: "eth1", Network: "other"}
	for _, tc := range []struct {
		name       string
		interfaces []nic
		// want has operation, key and network of each change.
		want []string
	}{
		{"F148 nothing changes", []nic{eth0}, nil},
		{"F148 an interface more is plugged, the first stays", []nic{eth0, eth1}, []string{"add -101 other"}},
		{"F148 none is left: nothing is said about them", nil, nil},
		{"F148 another network is an edit of the same adapter", []nic{eth1}, []string{"edit 4000 other"}},
		{"F148 another model is unplugged and plugged", []nic{{Name: "eth0", Model: "e1000"}}, []string{"remove 4000 VM Network", "add -100 VM Network"}},
		{"F148 another model and one more", []nic{{Name: "eth0", Model: "e1000"}, eth1}, []string{"remove 4000 VM Network", "add -100 VM Network", "add -101 other"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := want()
			w.Effective.Network.Interfaces = tc.interfaces
			var got []string
			for _, c := range Spec(Differences(w, have())).DeviceChange {
				change := c.GetVirtualDeviceConfigSpec()
				card := change.Device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
				got = append(got, fmt.Sprintf("%s %d %s", change.Operation, card.Key, backingName(card.Backing)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("device changes (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("F148 a disabled network unplugs all", func(t *testing.T) {
		w := want()
		w.Effective.Network.Disabled = true
		changes := Spec(Differences(w, have())).DeviceChange
		if len(changes) != 1 || changes[0].GetVirtualDeviceConfigSpec().Operation != types.VirtualDeviceConfigSpecOperationRemove {
			t.Errorf("device changes %+v, want one removal", changes)
		}
	})
}
