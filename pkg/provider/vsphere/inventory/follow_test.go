// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func record(id, version string) *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = vmRef(id)
	vm.Config = &types.VirtualMachineConfigInfo{InstanceUuid: id, ChangeVersion: version}
	return vm
}

func TestFinishSync_KeepsRecordsNewerThanTheRead(t *testing.T) {
	synced := 0
	i := New(Options{Synced: func() { synced++ }})
	for _, id := range []string{"reported", "created-meanwhile", "gone"} {
		i.store(vmRef(id), record(id, "1"))
	}
	i.direct[vmRef("created-meanwhile")] = 0
	if found := i.Find(Identifiers{InstanceUUID: "nowhere"}); found.State != Unknown || !i.Starting() {
		t.Errorf("before the end, a missing VM has state %v, starting %v; want unknown and true", found.State, i.Starting())
	}
	i.finishSync(map[types.ManagedObjectReference]struct{}{vmRef("reported"): {}})

	var kept []string
	for ref := range i.vms {
		kept = append(kept, ref.Value)
	}
	slices.Sort(kept)
	if diff := cmp.Diff([]string{"created-meanwhile", "reported"}, kept); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if found := i.Find(Identifiers{InstanceUUID: "nowhere"}); found.State != Absent || i.Starting() || synced != 1 {
		t.Errorf("after the end, a missing VM has state %v, starting %v, %d calls; want absent, false and 1", found.State, i.Starting(), synced)
	}
}

// A directly read record may be newer than its part of the first read.
func TestMarkReported_ReturnsTrueOnceAfterADirectRead(t *testing.T) {
	i := New(Options{})
	ref := vmRef("vm-1")
	i.direct[ref] = 0
	if first, second := i.markReported(ref), i.markReported(ref); !first || second {
		t.Errorf("read directly = %v, then %v; want true and false", first, second)
	}
}
