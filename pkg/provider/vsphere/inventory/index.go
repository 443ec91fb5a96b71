// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// named is what names a virtual machine, as it was when it could last be read.
type named struct {
	instanceUUID, biosUUID string
	// path of the .vmx file.
	path  string
	owner observe.Owner
}

// refs is a set of virtual machines.
type refs map[types.ManagedObjectReference]struct{}

// index finds virtual machines by what names them. One that cannot be read now keeps
// the names that it had.
type index struct {
	names  map[types.ManagedObjectReference]named
	byUUID map[string]refs
	// byOwner is by the UID of the object.
	byOwner map[string]refs
	// claimed are those that the unique ID of an object has named, and unread those
	// that could not be read since they were seen.
	claimed, unread refs
	// paths are where the .vmx files of those were that are not shown any more and that this
	// process has not destroyed.
	paths map[types.ManagedObjectReference]string
	// successors are what became of virtual machines, by the managed object ID that they had.
	successors map[string]types.ManagedObjectReference
}

func newIndex() index {
	return index{
		names: map[types.ManagedObjectReference]named{}, byUUID: map[string]refs{}, byOwner: map[string]refs{},
		claimed: refs{}, unread: refs{},
		paths: map[types.ManagedObjectReference]string{}, successors: map[string]types.ManagedObjectReference{},
	}
}

// put takes up the names of a record.
func (x *index) put(ref types.ManagedObjectReference, vm *mo.VirtualMachine) {
	if !observe.Readable(vm) {
		if _, known := x.names[ref]; !known {
			x.unread[ref] = struct{}{}
		}
		return
	}
	delete(x.unread, ref)
	delete(x.paths, ref)
	next := named{
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

// drop forgets a virtual machine that is not shown any more, but for where it was.
func (x *index) drop(ref types.ManagedObjectReference) {
	if was := x.names[ref]; was.owner.UID != "" {
		x.paths[ref] = was.path
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
