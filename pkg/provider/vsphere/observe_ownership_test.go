// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestOwnershipIsThatOfTheUID(t *testing.T) {
	me := observe.Owner{Key: k8stypes.NamespacedName{Namespace: "team-a", Name: "web"}, UID: "6b1f"}
	for _, tc := range []struct {
		name, instanceUUID, key string
		want                    driver.Ownership
	}{
		{"made by us", "6b1f", "team-a/web/6b1f", driver.Own},
		{"taken over by us", "77aa", "team-a/web/6b1f", driver.Own},
		{"made by us, without the key", "6B1F", "", driver.Own},
		{"made by hand", "77aa", "", driver.Unowned},
		{"another object's", "77aa", "team-b/db/99cc", driver.Foreign},
		{"another object's with our name", "77aa", "team-a/web/99cc", driver.Foreign},
		{"another object's with our UUID", "6b1f", "team-b/db/99cc", driver.Foreign},
		{"a key that is none", "6b1f", "6b1f", driver.Foreign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{InstanceUuid: tc.instanceUUID}}
			if tc.key != "" {
				vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: tc.key}}
			}
			if got := observe.OwnershipOf(vm, me); got != tc.want {
				t.Errorf("OwnershipOf = %s, want %s", got, tc.want)
			}
		})
	}
	if got := observe.OwnershipOf(&mo.VirtualMachine{}, me); got != driver.Unowned {
		t.Errorf("OwnershipOf a VM without configuration = %s, want Unowned", got)
	}
}
