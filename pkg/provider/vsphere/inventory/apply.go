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

// update applies a batch. Hosts and tasks are applied immediately. Virtual machines are applied after incomplete
// ones and the names of their hosts were read.
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
			i.queueEvents(u)
		case "VirtualMachine":
			if u.Kind == types.ObjectUpdateKindLeave {
				if !i.isWatched(u.Obj) {
					delete(pending, u.Obj)
					left = append(left, u.Obj)
				}
				continue
			}
			direct := u.Kind == types.ObjectUpdateKindEnter && i.markReported(u.Obj)
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
	_, err = i.readDeparted(ctx, c, left)
	return err
}

// isWatched reports whether the stream has the virtual machine.
func (i *Inventory) isWatched(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.places.isWatched(ref)
}

// markReported records that the stream has a virtual machine. It returns true if the record was read directly,
// because that record may be newer than the stream's first report.
func (i *Inventory) markReported(ref types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, direct := i.direct[ref]
	delete(i.direct, ref)
	return direct
}

// merge applies u to the record. again is true if the virtual machine must be read again, because the server left
// out a property or reported only a part of one. vm is nil if u is for a virtual machine whose record was removed.
func (i *Inventory) merge(base *mo.VirtualMachine, u types.ObjectUpdate) (vm *mo.VirtualMachine, again bool) {
	known := base
	if known == nil {
		known = i.Get(u.Obj)
	}
	if u.Kind == types.ObjectUpdateKindEnter {
		known = &mo.VirtualMachine{} // The update contains all properties that are set.
		known.Self = u.Obj
	}
	if known == nil {
		return nil, false
	}
	next, incomplete := apply(known, u.ChangeSet)
	return next, incomplete || missingProperty(u.MissingSet) != nil || observe.Fault(known) != ""
}
