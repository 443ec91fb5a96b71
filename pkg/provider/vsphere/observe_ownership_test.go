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

func TestOwnership_IsDeterminedByTheUID(t *testing.T) {
	me := observe.Owner{Key: k8stypes.NamespacedName{Namespace: "team-a", Name: "web"}, UID: "6b1f"}
	for _, tc := range []struct {
		name, instanceUUID, key string
		want                    driver.Ownership
	}{
		{"created by the object", "6b1f", "team-a/web/6b1f", driver.Own},
		{"adopted", "77aa", "team-a/web/6b1f", driver.Own},
		{"created by the object, without the owner key", "6B1F", "", driver.Own},
		{"created manually", "77aa", "", driver.Unowned},
		{"another object's", "77aa", "team-b/db/99cc", driver.Foreign},
		{"another object's with the same name", "77aa", "team-a/web/99cc", driver.Foreign},
		{"another object's with the same UUID", "6b1f", "team-b/db/99cc", driver.Foreign},
		{"an invalid owner key", "6b1f", "6b1f", driver.Foreign},
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
