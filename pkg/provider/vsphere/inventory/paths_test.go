// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestApply_UpdatesBlockingProperties(t *testing.T) {
	before := record("vm-1", "1")
	next, incomplete := apply(before, []types.PropertyChange{
		{Name: "runtime.question", Val: types.VirtualMachineQuestionInfo{Id: "q", Text: "moved or copied?"}},
		{Name: "runtime.consolidationNeeded", Val: true},
		{Name: "guest.customizationInfo", Val: types.GuestInfoCustomizationInfo{CustomizationStatus: "TOOLSDEPLOYPKG_FAILED"}},
		{Name: "config.managedBy", Val: types.ManagedByInfo{ExtensionKey: "k", Type: "t"}},
		{Name: "config.annotation", Val: "note"},
	})
	switch {
	case incomplete:
		t.Error("incomplete")
	case next.Runtime.Question == nil || next.Runtime.Question.Id != "q":
		t.Errorf("question %v", next.Runtime.Question)
	case !next.Runtime.ConsolidationNeeded:
		t.Errorf("consolidation needed %v", next.Runtime.ConsolidationNeeded)
	case next.Guest.CustomizationInfo == nil || next.Guest.CustomizationInfo.CustomizationStatus != "TOOLSDEPLOYPKG_FAILED":
		t.Errorf("customization %v", next.Guest.CustomizationInfo)
	case next.Config.ManagedBy == nil || next.Config.Annotation != "note":
		t.Errorf("managed by %v, annotation %q", next.Config.ManagedBy, next.Config.Annotation)
	}
	next, _ = apply(next, []types.PropertyChange{{Name: "runtime.question", Op: types.PropertyChangeOpIndirectRemove}})
	if next.Runtime.Question != nil || before.Guest != nil {
		t.Errorf("question %v after it was answered; the old record has guest %v", next.Runtime.Question, before.Guest)
	}
}

func TestChild_FindsTheCurrentFolderAndName(t *testing.T) {
	i := New(Options{})
	a, b := types.ManagedObjectReference{Type: "Folder", Value: "a"}, types.ManagedObjectReference{Type: "Folder", Value: "b"}
	put := func(id, name string, folder types.ManagedObjectReference) *mo.VirtualMachine {
		vm := record(id, "1")
		vm.Name, vm.Parent = name, &folder
		i.store(vmRef(id), vm)
		return vm
	}
	put("vm-1", "web", a)
	moved := put("vm-1", "web", b)
	other := put("vm-2", "web", a)
	put("vm-3", "old", a)
	renamed := put("vm-3", "new", a)
	for _, tc := range []struct {
		folder types.ManagedObjectReference
		name   string
		want   *mo.VirtualMachine
	}{{b, "web", moved}, {a, "web", other}, {a, "old", nil}, {a, "new", renamed}, {b, "new", nil}} {
		if got := i.Child(tc.folder, tc.name); got != tc.want {
			t.Errorf("Child(%s, %s) = %v, want %v", tc.folder.Value, tc.name, got, tc.want)
		}
	}
	i.Forget(vmRef("vm-2"))
	if got := i.Child(a, "web"); got != nil {
		t.Errorf("Child = %v after Forget", got)
	}
}

func TestRecord_HasNoConfigurationIfARequiredPropertyIsMissing(t *testing.T) {
	fault := types.LocalizedMethodFault{Fault: &types.SystemError{}, LocalizedMessage: "a general system error"}
	read := func(missing ...string) *mo.VirtualMachine {
		content := types.ObjectContent{Obj: vmRef("vm-1"), PropSet: []types.DynamicProperty{
			{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionStateConnected},
			{Name: "config.changeVersion", Val: "1"}, {Name: "config.instanceUuid", Val: "a"},
		}}
		for _, path := range missing {
			content.MissingSet = append(content.MissingSet, types.MissingProperty{Path: path, Fault: fault})
		}
		return recordOf(content)
	}
	if vm := read("guest.net", "guestHeartbeatStatus", "summary.storage"); !observe.IsReadable(vm) {
		t.Errorf("unreadable without optional properties: %s", observe.Trouble(vm))
	}
	for _, path := range []string{"config.extraConfig", "config.hardware", "runtime.powerState", "snapshot", "name"} {
		vm := read("guest.net", path)
		if want := "the configuration of the vSphere VM vm-1 cannot be read: " + path + ": a general system error"; observe.IsReadable(vm) || observe.Trouble(vm) != want {
			t.Errorf("without %s: readable %v, trouble %q; want %q", path, observe.IsReadable(vm), observe.Trouble(vm), want)
		}
	}
}
