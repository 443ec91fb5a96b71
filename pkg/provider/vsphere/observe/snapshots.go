// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// SnapshotRecordKey is the key of a VirtualMachineSnapshot's UID, a slash, and the VM object's record. It is set
// while the snapshot is created, so the snapshot's configuration contains it. A revert restores it.
const SnapshotRecordKey = "slipway.snapshot"

// snapshotMark matches the name and UID of the object in a managed snapshot's description. The snapshot's
// configuration has the UID too, but would have to be read for each snapshot.
var snapshotMark = regexp.MustCompile(`\[VirtualMachineSnapshot ([a-z0-9.-]+) ([A-Za-z0-9-]+)\]`)

// DescribeSnapshot returns the description for an object's snapshot.
func DescribeSnapshot(text, name string, uid ktypes.UID) string {
	mark := "[VirtualMachineSnapshot " + name + " " + string(uid) + "]"
	if text == "" {
		return mark
	}
	return text + "\n" + mark
}

// Snapshots returns the VM's snapshots. A parent is before its children.
func Snapshots(vm *mo.VirtualMachine) []provider.ObservedSnapshot {
	if vm == nil || vm.Snapshot == nil {
		return nil
	}
	var out []provider.ObservedSnapshot
	var walk func(list []types.VirtualMachineSnapshotTree, parent *types.ManagedObjectReference)
	walk = func(list []types.VirtualMachineSnapshotTree, parent *types.ManagedObjectReference) {
		for i := range list {
			out = append(out, snapshotOf(vm, &list[i], parent))
			walk(list[i].ChildSnapshotList, &list[i].Snapshot)
		}
	}
	walk(vm.Snapshot.RootSnapshotList, nil)
	return out
}

func snapshotOf(vm *mo.VirtualMachine, t *types.VirtualMachineSnapshotTree, parent *types.ManagedObjectReference) provider.ObservedSnapshot {
	current := vm.Snapshot.CurrentSnapshot != nil && *vm.Snapshot.CurrentSnapshot == t.Snapshot
	s := provider.ObservedSnapshot{
		VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{
			UniqueID: t.Snapshot.Value, Name: t.Name, CreationTime: &metav1.Time{Time: t.CreateTime.UTC().Truncate(time.Second)},
			PowerState: powerStates[t.State], Occupied: snapshotSize(vm, t.Snapshot, parent, current),
		},
		Quiesced: t.Quiesced, Current: current,
	}
	if parent != nil {
		s.Parent = parent.Value
	}
	if m := snapshotMark.FindAllStringSubmatch(t.Description, -1); len(m) > 0 {
		last := m[len(m)-1]
		s.SnapshotName, s.UID = last[1], ktypes.UID(last[2])
	}
	for _, child := range t.ChildSnapshotList {
		s.Children = append(s.Children, child.Snapshot.Value)
	}
	return s
}

var powerStates = map[types.VirtualMachinePowerState]vmv1alpha1.PowerState{
	types.VirtualMachinePowerStatePoweredOn: vmv1alpha1.PoweredOn, types.VirtualMachinePowerStatePoweredOff: vmv1alpha1.PoweredOff,
	types.VirtualMachinePowerStateSuspended: vmv1alpha1.Suspended,
}

// snapshotSize returns the size of the files that belong only to this snapshot, including a separate memory file. It
// returns nil if the files are not known.
func snapshotSize(vm *mo.VirtualMachine, ref types.ManagedObjectReference, parent *types.ManagedObjectReference, current bool) *resource.Quantity {
	if vm.LayoutEx == nil {
		return nil
	}
	at := slices.IndexFunc(vm.LayoutEx.Snapshot, func(l types.VirtualMachineFileLayoutExSnapshotLayout) bool { return l.Key == ref })
	if at < 0 {
		return nil
	}
	size := int64(object.SnapshotSize(ref, parent, vm.LayoutEx, current))
	layout := vm.LayoutEx.Snapshot[at]
	for _, f := range vm.LayoutEx.File {
		if f.Key == layout.MemoryKey && layout.MemoryKey != layout.DataKey {
			size += f.Size
		}
	}
	return resource.NewQuantity(size, resource.BinarySI)
}

// FindSnapshot returns an object's snapshot. It searches by the known ID and then by the mark in the description.
// It returns nil if there is none.
func FindSnapshot(vm *mo.VirtualMachine, uid ktypes.UID, id string) *provider.ObservedSnapshot {
	all := Snapshots(vm)
	for _, matches := range []func(*provider.ObservedSnapshot) bool{
		func(s *provider.ObservedSnapshot) bool { return id != "" && s.UniqueID == id },
		func(s *provider.ObservedSnapshot) bool { return uid != "" && s.UID == uid },
	} {
		for i := range all {
			if matches(&all[i]) {
				return &all[i]
			}
		}
	}
	return nil
}

// SnapshotRecordOf returns the snapshot record in a configuration, or nil.
func SnapshotRecordOf(extra []types.BaseOptionValue) *provider.StoredSnapshotRecord {
	for _, o := range extra {
		v := o.GetOptionValue()
		if v == nil || !strings.EqualFold(v.Key, SnapshotRecordKey) {
			continue
		}
		text, _ := v.Value.(string)
		if uid, record, ok := strings.Cut(text, "/"); ok && uid != "" {
			return &provider.StoredSnapshotRecord{UID: ktypes.UID(uid), Record: record}
		}
	}
	return nil
}

// SnapshotRecord returns the snapshot record in the VM's current configuration, or nil.
func SnapshotRecord(vm *mo.VirtualMachine) *provider.StoredSnapshotRecord {
	if vm == nil || vm.Config == nil {
		return nil
	}
	return SnapshotRecordOf(vm.Config.ExtraConfig)
}
