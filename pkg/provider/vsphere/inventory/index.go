// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// identifiers are a virtual machine's identifiers when it was last readable.
type identifiers struct {
	instanceUUID, biosUUID string
	// path is the path of the .vmx file.
	path  string
	owner observe.Owner
}

// refs is a set of virtual machines.
type refs map[types.ManagedObjectReference]struct{}

// index finds virtual machines by identifier. A virtual machine that cannot be read keeps its last identifiers.
type index struct {
	names  map[types.ManagedObjectReference]identifiers
	byUUID map[string]refs
	// byOwner is keyed by the UID of the object.
	byOwner map[string]refs
	// claimed are virtual machines that an object's unique ID refers to. unread are virtual machines that were
	// never readable.
	claimed, unread refs
	// paths are the last .vmx paths of virtual machines that left the inventory and that this process did not
	// destroy.
	paths map[types.ManagedObjectReference]string
	// successors are the new virtual machines by previous managed object ID.
	successors map[string]types.ManagedObjectReference
}

func newIndex() index {
	return index{
		names: map[types.ManagedObjectReference]identifiers{}, byUUID: map[string]refs{}, byOwner: map[string]refs{},
		claimed: refs{}, unread: refs{},
		paths: map[types.ManagedObjectReference]string{}, successors: map[string]types.ManagedObjectReference{},
	}
}

// put indexes the identifiers of a record.
func (x *index) put(ref types.ManagedObjectReference, vm *mo.VirtualMachine) {
	if !observe.IsReadable(vm) {
		if _, known := x.names[ref]; !known {
			x.unread[ref] = struct{}{}
		}
		return
	}
	delete(x.unread, ref)
	delete(x.paths, ref)
	next := identifiers{
		instanceUUID: strings.ToLower(vm.Config.InstanceUuid), biosUUID: strings.ToLower(vm.Config.Uuid), path: vm.Config.Files.VmPathName,
	}
	if owner, ok := observe.OwnerOf(vm); ok {
		next.owner = owner
	}
	if x.names[ref] == next {
		return
	}
	x.forget(ref)
	x.names[ref] = next
	add(x.byUUID, next.instanceUUID, ref)
	add(x.byOwner, next.owner.UID, ref)
}

// drop removes a virtual machine that is no longer in the inventory. It keeps the .vmx path.
func (x *index) drop(ref types.ManagedObjectReference) {
	if last := x.names[ref]; last.owner.UID != "" {
		x.paths[ref] = last.path
	}
	x.forget(ref)
	delete(x.claimed, ref)
	delete(x.unread, ref)
}

func (x *index) forget(ref types.ManagedObjectReference) {
	old, ok := x.names[ref]
	if !ok {
		return
	}
	remove(x.byUUID, old.instanceUUID, ref)
	remove(x.byOwner, old.owner.UID, ref)
	delete(x.names, ref)
}

func add(m map[string]refs, name string, ref types.ManagedObjectReference) {
	if name == "" {
		return
	}
	if m[name] == nil {
		m[name] = refs{}
	}
	m[name][ref] = struct{}{}
}

func remove(m map[string]refs, name string, ref types.ManagedObjectReference) {
	delete(m[name], ref)
	if len(m[name]) == 0 {
		delete(m, name)
	}
}
