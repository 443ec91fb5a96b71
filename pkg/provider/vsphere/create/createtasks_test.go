// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

func TestMayCreate_OnlyForRunningCreateTasks(t *testing.T) {
	deleted := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	earlier, later := deleted.Add(-time.Second), deleted.Add(time.Hour)
	for name, tc := range map[string]struct {
		info types.TaskInfo
		want bool
	}{
		"a running clone":                      {types.TaskInfo{DescriptionId: "VirtualMachine.clone", State: types.TaskInfoStateRunning, QueueTime: earlier}, true},
		"a deployment":                         {types.TaskInfo{DescriptionId: "ResourcePool.ImportVAppLRO", State: types.TaskInfoStateQueued, QueueTime: earlier}, true},
		"vCenter's clock is ahead":             {types.TaskInfo{DescriptionId: "Folder.createVm", State: types.TaskInfoStateRunning, QueueTime: deleted.Add(time.Minute)}, true},
		"started after the object was deleted": {types.TaskInfo{DescriptionId: "Folder.createVm", State: types.TaskInfoStateRunning, QueueTime: later}, false},
		"a clone that ended":                   {types.TaskInfo{DescriptionId: "VirtualMachine.clone", State: types.TaskInfoStateSuccess, QueueTime: earlier}, false},
		"a power on":                           {types.TaskInfo{DescriptionId: "VirtualMachine.powerOn", State: types.TaskInfoStateRunning, QueueTime: earlier}, false},
	} {
		if got := mayCreate(&tc.info, deleted); got != tc.want {
			t.Errorf("%s: may create a VM = %v, want %v", name, got, tc.want)
		}
	}
}

func TestEndOf_RecognizesDestroyAndUnregisterTasks(t *testing.T) {
	ref := func(kind, id string) *types.ManagedObjectReference {
		return &types.ManagedObjectReference{Type: kind, Value: id}
	}
	end := types.TaskInfo{DescriptionId: "VirtualMachine.destroy", State: types.TaskInfoStateSuccess, Entity: ref("VirtualMachine", "vm-1")}
	for name, tc := range map[string]struct {
		change func(*types.TaskInfo)
		want   Removal
	}{
		"it was destroyed":           {func(*types.TaskInfo) {}, Destroyed},
		"it was only unregistered":   {func(i *types.TaskInfo) { i.DescriptionId = "VirtualMachine.unregister" }, Unregistered},
		"it runs":                    {func(i *types.TaskInfo) { i.State = types.TaskInfoStateRunning }, ""},
		"it failed":                  {func(i *types.TaskInfo) { i.State = types.TaskInfoStateError }, ""},
		"another VM":                 {func(i *types.TaskInfo) { i.Entity = ref("VirtualMachine", "vm-12") }, ""},
		"a folder":                   {func(i *types.TaskInfo) { i.Entity = ref("Folder", "vm-1") }, ""},
		"without an entity":          {func(i *types.TaskInfo) { i.Entity = nil }, ""},
		"its snapshots were removed": {func(i *types.TaskInfo) { i.DescriptionId = "VirtualMachine.removeAllSnapshots" }, ""},
	} {
		info := end
		tc.change(&info)
		if got := endOf(&info, "vm-1"); got != tc.want {
			t.Errorf("%s: end %q, want %q", name, got, tc.want)
		}
	}
}
