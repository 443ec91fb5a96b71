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

// State is the known existence state of a virtual machine.
type State int

const (
	// Unknown means that vSphere was not read completely, or that the records are not conclusive.
	Unknown State = iota
	// Absent means that vSphere does not have the virtual machine in the folders that were read.
	Absent
	// Exists means that there is a record, readable or not.
	Exists
)

// Identifiers are the identifiers of an object's virtual machine. UUIDs are in lower case.
type Identifiers struct {
	// UniqueID is the last known managed object ID.
	UniqueID string
	// Confirmed is the new managed object ID, if an administrator has confirmed it.
	Confirmed string
	// InstanceUUID is the instance UUID that was set. vCenter may have changed it.
	InstanceUUID string
	// BiosUUID is the last known BIOS UUID. A clone has another BIOS UUID. A copy that a backup product has restored
	// has the same BIOS UUID.
	BiosUUID string
	// OwnerUID is the UID of the object. A clone has the same owner key.
	OwnerUID string
	// Folder is the folder of the namespace, if it is known.
	Folder types.ManagedObjectReference
}

// FindResult is the result of Find.
type FindResult struct {
	// State is the existence state.
	State State
	// VM is the record of an existing virtual machine.
	VM *mo.VirtualMachine
	// Copies are the records with the other identifiers of a virtual machine whose managed object ID was not found,
	// in the order of their IDs. It is set only if the state is Absent.
	Copies []*mo.VirtualMachine
	// Why is the reason why the state is unknown. It is empty if the reason is an incomplete read.
	Why string
}

// Find finds an object's record by the known managed object ID. If there is none, it searches by instance UUID and
// by owner. A readable record with the ID but without the UUID and the owner belongs to another owner. A record
// with another ID and the UUID or the owner is a copy until it is confirmed or SetSuccessor was called.
func (i *Inventory) Find(n Identifiers) FindResult {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ref := vmRef(n.UniqueID); i.vms[ref] != nil {
		vm := i.vms[ref]
		recorded, known := i.names.names[ref]
		if !known || recorded.instanceUUID == n.InstanceUUID || n.OwnerUID != "" && recorded.owner.UID == n.OwnerUID {
			if !observe.IsReadable(vm) {
				i.names.claimed[ref] = struct{}{}
			}
			return FindResult{State: Exists, VM: vm}
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
		return FindResult{State: Unknown}
	case why != "":
		return FindResult{State: Unknown, Why: why}
	}
	return FindResult{State: Absent}
}

// successor finds the record of a virtual machine whose managed object ID no longer has a record.
func (i *Inventory) successor(n Identifiers) FindResult {
	copies := i.copies(n)
	next, accepted := i.names.successors[n.UniqueID]
	for _, vm := range copies {
		if accepted && vm.Self == next || vm.Self.Value == n.Confirmed {
			return FindResult{State: Exists, VM: vm}
		}
	}
	if !i.synced {
		return FindResult{State: Unknown}
	}
	return FindResult{State: Absent, Copies: copies}
}

// copies returns the records with the instance UUID or the owner of a virtual machine, without those of other
// objects.
func (i *Inventory) copies(n Identifiers) (copies []*mo.VirtualMachine) {
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

// SetSuccessor records that the virtual machine of a managed object ID is now the virtual machine ref.
func (i *Inventory) SetSuccessor(uniqueID string, ref types.ManagedObjectReference) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names.successors[uniqueID] = ref
}

// SamePath reports whether a virtual machine's .vmx file has the last known path of the virtual machine with the
// managed object ID. It returns false if this process does not know that path.
func (i *Inventory) SamePath(uniqueID string, ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	previous, current := i.names.paths[vmRef(uniqueID)], i.names.names[ref].path
	return previous != "" && previous == current
}

// sameMachine returns the records with the owner key of an object that are not clones.
func (i *Inventory) sameMachine(n Identifiers) refs {
	out := refs{}
	for ref := range i.names.byOwner[n.OwnerUID] {
		if n.BiosUUID != "" && i.names.names[ref].biosUUID == n.BiosUUID {
			out[ref] = struct{}{}
		}
	}
	return out
}

func (i *Inventory) oneOf(all refs, by string) FindResult {
	if len(all) == 1 {
		for ref := range all {
			return FindResult{State: Exists, VM: i.vms[ref]}
		}
	}
	var ids []string
	for ref := range all {
		ids = append(ids, ref.Value)
	}
	slices.Sort(ids)
	return FindResult{State: Unknown, Why: fmt.Sprintf("several vSphere VMs have %s: %s", by, strings.Join(ids, ", "))}
}

// undecided describes a virtual machine that cannot be read, that no object's unique ID refers to, and that may belong
// to this object. It
// returns an empty string if there is none.
func (i *Inventory) undecided(n Identifiers) string {
	if n.UniqueID != "" {
		return ""
	}
	for ref := range i.names.unread {
		vm := i.vms[ref]
		if _, claimed := i.names.claimed[ref]; claimed || vm == nil {
			continue
		}
		if n.Folder.Value == "" || vm.Parent == nil || *vm.Parent == n.Folder {
			return fmt.Sprintf("the vSphere VM %s (%s) cannot be read and may belong to this object", ref.Value, vm.Name)
		}
	}
	return ""
}

// CountOwners returns the number of objects that own records.
func (i *Inventory) CountOwners() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.names.byOwner)
}

// StoreUnreadable publishes a record of a virtual machine that the account cannot read. Only its ID is known. The stream
// reports the virtual machine when the account gets the permission.
func (i *Inventory) StoreUnreadable(ref types.ManagedObjectReference) {
	if i.Get(ref) == nil {
		vm := &mo.VirtualMachine{}
		vm.Self = ref
		i.store(ref, vm)
	}
}
