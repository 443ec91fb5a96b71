// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// update applies one batch: hosts and tasks at once, virtual machines after those that
// need it, and the names of their hosts, were read.
func (i *Inventory) update(ctx context.Context, c *vim25.Client, updates []types.ObjectUpdate) error {
	pending := map[types.ManagedObjectReference]*mo.VirtualMachine{}
	var order, stale, left []types.ManagedObjectReference
	for _, u := range updates {
		switch u.Obj.Type {
		case "HostSystem":
			i.updateHost(u)
		case "Task":
			i.tasks.update(u)
		case "EventHistoryCollector":
			i.happened(u)
		case "VirtualMachine":
			if u.Kind == types.ObjectUpdateKindLeave {
				if !i.held(u.Obj) {
					delete(pending, u.Obj)
					left = append(left, u.Obj)
				}
				continue
			}
			direct := u.Kind == types.ObjectUpdateKindEnter && i.reported(u.Obj)
			vm, again := i.merge(pending[u.Obj], u)
			if vm == nil {
				continue
			}
			if _, ok := pending[u.Obj]; !ok {
				order = append(order, u.Obj)
			}
			if again || direct {
				stale = append(stale, u.Obj)
			}
			pending[u.Obj] = vm
		}
	}
	fresh, err := read(ctx, c, stale)
	if err != nil {
		return fmt.Errorf("reading changed virtual machines: %w", err)
	}
	for _, ref := range stale {
		if vm, ok := fresh[ref]; ok && pending[ref] != nil {
			pending[ref] = vm
		} else {
			delete(pending, ref)
		}
	}
	if err := errors.Join(i.learnHosts(ctx, c, pending), i.learnLayouts(ctx, c, pending)); err != nil {
		return err
	}
	for _, ref := range order {
		if vm, ok := pending[ref]; ok {
			i.store(ref, vm)
		}
	}
	_, err = i.departed(ctx, c, left)
	return err
}

// held reports whether the stream has the virtual machine.
func (i *Inventory) held(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.places.held(ref)
}

// reported notes that the stream has a virtual machine, and is true for one whose
// record was read directly: that may be newer than what the stream says first.
func (i *Inventory) reported(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, direct := i.direct[ref]
	delete(i.direct, ref)
	return direct
}

// merge applies u to the record. again is true when the virtual machine must be read: the
// server left out a property, or has reported only a part of one. nil means that u is about a
// virtual machine that was forgotten.
func (i *Inventory) merge(base *mo.VirtualMachine, u types.ObjectUpdate) (vm *mo.VirtualMachine, again bool) {
	known := base
	if known == nil {
		known = i.Get(u.Obj)
	}
	if u.Kind == types.ObjectUpdateKindEnter {
		known = &mo.VirtualMachine{} // It comes with all that is set.
		known.Self = u.Obj
	}
	if known == nil {
		return nil, false
	}
	next, incomplete := apply(known, u.ChangeSet)
	return next, incomplete || unanswered(u.MissingSet) != nil || observe.Fault(known) != ""
}
