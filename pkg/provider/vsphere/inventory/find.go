// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// State is what is known about the existence of a virtual machine.
type State int

const (
	// Unknown means that vSphere was not read completely, or that what was read does
	// not tell.
	Unknown State = iota
	// Absent means that vSphere has no such virtual machine where it was read.
	Absent
	// Exists means that there is a record, readable or not.
	Exists
)

// Names are everything that can name the virtual machine of an object; UUIDs are in
// lower case.
type Names struct {
	// UniqueID is the managed object ID that the virtual machine had.
	UniqueID string
	// Confirmed is the managed object ID that it has instead, if an administrator says so.
	Confirmed string
	// InstanceUUID that it was given. vCenter may have changed it.
	InstanceUUID string
	// BiosUUID that it had. A clone has another, a copy that a backup product restores the same.
	BiosUUID string
	// OwnerUID is the UID of the object. A clone has the same owner key.
	OwnerUID string
	// Folder of its namespace, if that is known.
	Folder types.ManagedObjectReference
}

// Found is what Find says.
type Found struct {
	// State of existence.
	State State
	// VM is the record of what exists.
	VM *mo.VirtualMachine
	// Copies are the records that have the other names of a virtual machine which has had
	// another managed object ID, by theirs. Only if the state is Absent.
	Copies []*mo.VirtualMachine
	// Why tells why the state is unknown, if it is not for want of a complete reading.
	Why string
}

// Find finds the record with the managed object ID that the virtual machine had, or without
// one by instance UUID and by owner. A record that has the ID, can be read, and has neither the
// UUID nor the owner is somebody else's. One that has another ID, and the UUID or the owner, is
// a copy until it is confirmed or Succeed was called.
func (i *Inventory) Find(n Names) Found {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ref := vmRef(n.UniqueID); i.vms[ref] != nil {
		vm := i.vms[ref]
		had, known := i.names.names[ref]
		if !known || had.instanceUUID == n.InstanceUUID || n.OwnerUID != "" && had.owner.UID == n.OwnerUID {
			if !observe.Readable(vm) {
				i.names.claimed[ref] = struct{}{}
			}
			return Found{State: Exists, VM: vm}
		}
	}
	if n.UniqueID != "" {
		return i.successor(n)
	}
	if all := i.names.byUUID[n.InstanceUUID]; len(all) > 0 {
		return i.oneOf(all, "instance UUID "+n.InstanceUUID)
	}
	if own := i.sameMachine(n); len(own) > 0 {
		return i.oneOf(own, "the owner key of this object")
	}
	switch why := i.undecided(n); {
	case !i.synced:
		return Found{State: Unknown}
	case why != "":
		return Found{State: Unknown, Why: why}
	}
	return Found{State: Absent}
}

// successor finds the virtual machine whose managed object ID no record of it has any more.
func (i *Inventory) successor(n Names) Found {
	copies := i.copies(n)
	next, accepted := i.names.successors[n.UniqueID]
	for _, vm := range copies {
		if accepted && vm.Self == next || vm.Self.Value == n.Confirmed {
			return Found{State: Exists, VM: vm}
		}
	}
	if !i.synced {
		return Found{State: Unknown}
	}
	return Found{State: Absent, Copies: copies}
}

// copies are the records with the instance UUID or the owner of a virtual machine, but for
// those of other objects.
func (i *Inventory) copies(n Names) (copies []*mo.VirtualMachine) {
	all := refs{}
	maps.Copy(all, i.names.byOwner[n.OwnerUID])
	for ref := range i.names.byUUID[n.InstanceUUID] {
		if i.names.names[ref].owner.UID == "" {
			all[ref] = struct{}{}
		}
	}
	for ref := range all {
		copies = append(copies, i.vms[ref])
	}
	slices.SortFunc(copies, func(a, b *mo.VirtualMachine) int { return strings.Compare(a.Self.Value, b.Self.Value) })
	return copies
}

// Succeed says that the virtual machine that had a managed object ID is the one of ref now.
func (i *Inventory) Succeed(uniqueID string, ref types.ManagedObjectReference) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names.successors[uniqueID] = ref
}

// SamePath reports whether the .vmx file of a virtual machine is where that of the one with
// the managed object ID was when it was shown last. What was never shown to this process is not
// known.
func (i *Inventory) SamePath(uniqueID string, ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	was, now := i.names.paths[vmRef(uniqueID)], i.names.names[ref].path
	return was != "" && was == now
}

// sameMachine are the records with the owner key of an object that are no clones.
func (i *Inventory) sameMachine(n Names) refs {
	out := refs{}
	for ref := range i.names.byOwner[n.OwnerUID] {
		if n.BiosUUID != "" && i.names.names[ref].biosUUID == n.BiosUUID {
			out[ref] = struct{}{}
		}
	}
	return out
}

func (i *Inventory) oneOf(all refs, by string) Found {
	if len(all) == 1 {
		for ref := range all {
			return Found{State: Exists, VM: i.vms[ref]}
		}
	}
	var ids []string
	for ref := range all {
		ids = append(ids, ref.Value)
	}
	slices.Sort(ids)
	return Found{State: Unknown, Why: fmt.Sprintf("several vSphere VMs have %s: %s", by, strings.Join(ids, ", "))}
}

// undecided names a virtual machine that cannot be read, that no object claims, and
// that may be the one which is looked for.
func (i *Inventory) undecided(n Names) string {
	if n.UniqueID != "" {
		return ""
	}
	for ref := range i.names.unread {
		vm := i.vms[ref]
		if _, claimed := i.names.claimed[ref]; claimed || vm == nil {
			continue
		}
		if n.Folder.Value == "" || vm.Parent == nil || *vm.Parent == n.Folder {
			return fmt.Sprintf("the vSphere VM %s (%s) cannot be read, and it may be that of this object", ref.Value, vm.Name)
		}
	}
	return ""
}

// Managed is the number of objects that the records belong to.
func (i *Inventory) Managed() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.names.byOwner)
}

// Unreadable publishes a virtual machine of which nothing but its ID is known, because
// the account may not read it. The stream reports it when it may.
func (i *Inventory) Unreadable(ref types.ManagedObjectReference) {
	if i.Get(ref) == nil {
		vm := &mo.VirtualMachine{}
		vm.Self = ref
		i.store(ref, vm)
	}
}
