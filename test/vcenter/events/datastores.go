// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"strconv"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// RenameDatastore renames a datastore. The paths of its files change, because a datastore path begins with the name
// (vSphere API, Datastore). The simulator has no Rename_Task for datastores.
func (e *Events) RenameDatastore(from, to string) error {
	ctx := strict.Acting(e.registry)
	if from == "" || to == "" {
		return fmt.Errorf("from, to: %q, %q: both names are needed", from, to)
	}
	renamed := e.datastore(from)
	if renamed == nil {
		return fmt.Errorf("from: no datastore has the name %q", from)
	}
	ctx.WithLock(renamed, func() {
		info := renamed.Info
		info.GetDatastoreInfo().Name = to
		ctx.Update(renamed, []types.PropertyChange{{Name: "name", Val: to}, {Name: "summary.name", Val: to}, {Name: "info", Val: info}})
	})
	for _, entity := range e.registry.All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() { strict.RenameFiles(ctx, vm, "["+from+"] ", "["+to+"] ") })
	}
	return nil
}

// datastore returns the datastore with a name, or nil.
func (e *Events) datastore(name string) *simulator.Datastore {
	for _, entity := range e.registry.All("Datastore") {
		if ds, ok := entity.(*simulator.Datastore); ok && ds.Name == name {
			return ds
		}
	}
	return nil
}

// Tag replaces the tags of a datastore, by which storage policies select it.
func (e *Events) Tag(name string, tags ...string) error {
	ds := e.datastore(name)
	if ds == nil {
		return fmt.Errorf("datastore: none has the name %q", name)
	}
	var all []types.Tag
	for _, t := range tags {
		if t != "" {
			all = append(all, types.Tag{Key: t})
		}
	}
	strict.Acting(e.registry).WithLock(ds, func() { ds.Tag = all })
	return nil
}

// SetFreeSpace sets the free space of a datastore in bytes.
func (e *Events) SetFreeSpace(name, bytes string) error {
	ds := e.datastore(name)
	if ds == nil {
		return fmt.Errorf("datastore: none has the name %q", name)
	}
	free, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil || free < 0 {
		return fmt.Errorf("bytes: %q must be a number that is not negative", bytes)
	}
	ctx := strict.Acting(e.registry)
	ctx.WithLock(ds, func() {
		ctx.Update(ds, []types.PropertyChange{{Name: "summary.freeSpace", Val: free}})
	})
	return nil
}
