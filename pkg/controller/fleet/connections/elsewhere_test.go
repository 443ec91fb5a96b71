// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// Another replica may manage the vCenter that has the VM.
func TestFindInOthers_SearchesEveryOtherVCenter(t *testing.T) {
	r := newReplica(t)
	vm, err := find.NewFinder(simulated.Operator(t, r.ready).Client).VirtualMachine(t.Context(), "/DC0/vm/templates/"+vcenter.Template)
	r.must(err)
	var seen mo.VirtualMachine
	r.must(vm.Properties(t.Context(), vm.Reference(), []string{"config.instanceUuid"}, &seen))
	id := driver.Identity{Key: types.NamespacedName{Namespace: "ns", Name: "vm"}, UID: "uid", UniqueID: "vm-1", InstanceUUID: seen.Config.InstanceUuid}
	if got, err := r.findInOthers("two")(t.Context(), id); err != nil || got != vm.Reference().Value+` in vCenter "one"` {
		t.Errorf("of the vCenter two: %q, %v; want the VM of vCenter one", got, err)
	}
	if got, err := r.findInOthers("one")(t.Context(), id); err != nil || got != "" {
		t.Errorf("of the vCenter itself: %q, %v; want nothing", got, err)
	}
	two := r.one.DeepCopy()
	two.Name, two.UID, two.Spec.CredentialsSecretRef.Name = "two", "two", "none"
	r.must(r.cache.Add(two))
	t.Cleanup(func() { r.readers.leave("two") })
	if got, err := r.findInOthers("one")(t.Context(), id); err == nil || !strings.Contains(err.Error(), `vCenter "two" may have the VM`) {
		t.Errorf("with a vCenter that cannot be searched: %q, %v; want an error", got, err)
	}
}
