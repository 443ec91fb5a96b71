// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"maps"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
)

// properties are the values of one member as last sent, by path.
type properties map[string]types.AnyType

// Filter is one property filter of a collector, with the values that it has reported.
type Filter struct {
	mo.PropertyFilter

	collector *Collector
	primed    bool
	members   map[types.ManagedObjectReference]properties
	visited   refSet // objects through which members are selected
	walks     bool   // members are selected through more than views
	gone      refSet // removed objects, until one is put back
}

// DestroyPropertyFilter removes the filter from its collector.
func (f *Filter) DestroyPropertyFilter(ctx *simulator.Context, req *types.DestroyPropertyFilter) soap.HasFault {
	f.collector.dropFilter(req.This)
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyPropertyFilterBody{Res: &types.DestroyPropertyFilterResponse{}}
}

func (f *Filter) reset() {
	f.primed, f.visited, f.walks = false, nil, false
	f.members, f.gone = map[types.ManagedObjectReference]properties{}, refSet{}
}

// scan returns the updates that the changes cause, and remembers them as sent.
func (f *Filter) scan(ctx *simulator.Context, changes batch) ([]types.ObjectUpdate, types.BaseMethodFault) {
	var updates []types.ObjectUpdate
	for ref := range changes.gone {
		f.gone[ref] = struct{}{}
		if _, ok := f.members[ref]; ok {
			updates = append(updates, f.leave(ref))
		}
	}

	for ref := range changes.touched {
		if ctx.Map.Get(ref) != nil {
			delete(f.gone, ref)
		}
	}

	var read, light []types.ManagedObjectReference
	if changes.all {
		read = slices.Collect(maps.Keys(f.members))
	} else {
		for ref, configuration := range changes.touched {
			switch _, ok := f.members[ref]; {
			case ok && configuration:
				read = append(read, ref)
			case ok:
				light = append(light, ref)
			}
		}
	}

	if !f.primed || f.stale(changes) {
		selected, fault := f.selectMembers(ctx)
		if fault != nil {
			return nil, fault
		}
		f.primed = true
		now := refSet{}
		for _, ref := range selected {
			now[ref] = struct{}{}
			if _, known := f.members[ref]; !known && !f.gone.has(ref) {
				read = append(read, ref)
			}
		}
		for ref := range f.members {
			if !now.has(ref) {
				updates = append(updates, f.leave(ref))
			}
		}
		left := func(ref types.ManagedObjectReference) bool { return !now.has(ref) }
		read, light = slices.DeleteFunc(read, left), slices.DeleteFunc(light, left)
	}
	updates = append(updates, f.read(ctx, read, f.Spec.PropSet)...)
	return append(updates, f.read(ctx, light, withoutConfiguration(f.Spec.PropSet))...), nil
}

// withoutConfiguration leaves out the paths of the configuration.
func withoutConfiguration(all []types.PropertySpec) []types.PropertySpec {
	out := slices.Clone(all)
	for i := range out {
		out[i].PathSet = slices.DeleteFunc(slices.Clone(out[i].PathSet), sight.InConfig)
	}
	return out
}

// stale reports whether the changes may have added or removed members.
func (f *Filter) stale(changes batch) bool {
	if changes.all || f.walks && (changes.entered || len(changes.gone) != 0) {
		return true
	}
	for ref := range changes.touched {
		if f.visited.has(ref) {
			return true
		}
	}
	return false
}

func (f *Filter) leave(ref types.ManagedObjectReference) types.ObjectUpdate {
	delete(f.members, ref)
	return types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave}
}

// read reads these properties of the objects and returns the differences from the sent values.
func (f *Filter) read(ctx *simulator.Context, refs []types.ManagedObjectReference, set []types.PropertySpec) []types.ObjectUpdate {
	if len(refs) == 0 {
		return nil
	}
	spec := types.PropertyFilterSpec{PropSet: set, ReportMissingObjectsInResults: types.NewBool(true)}
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	res, ok := f.collector.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{
		SpecSet: []types.PropertyFilterSpec{spec},
	}).(*methods.RetrievePropertiesExBody)
	if !ok || res.Res == nil || res.Res.Returnval == nil {
		return nil
	}

	var updates []types.ObjectUpdate
	for _, content := range res.Res.Returnval.Objects {
		old, known := f.members[content.Obj]
		values := properties{}
		for _, p := range content.PropSet {
			values[p.Name] = p.Val
		}
		for name, val := range old {
			if !slices.ContainsFunc(set, func(s types.PropertySpec) bool { return isTrue(s.All) || slices.Contains(s.PathSet, name) }) {
				values[name] = val // was not read
			}
		}
		f.members[content.Obj] = values

		update := types.ObjectUpdate{Obj: content.Obj, Kind: types.ObjectUpdateKindEnter, MissingSet: content.MissingSet}
		if known {
			update.Kind = types.ObjectUpdateKindModify
			update.MissingSet = slices.DeleteFunc(update.MissingSet, func(m types.MissingProperty) bool {
				_, had := old[m.Path]
				return !had
			})
		}
		update.ChangeSet = f.differences(ctx, content, old, values)
		if known && len(update.ChangeSet) == 0 && len(update.MissingSet) == 0 {
			continue
		}
		updates = append(updates, update)
	}
	return updates
}

// differences lists the changed values in the order in which they were read, then those that are no longer set.
// Values that are missing because of a missing privilege are omitted.
func (f *Filter) differences(ctx *simulator.Context, content types.ObjectContent, old, now properties) []types.PropertyChange {
	var changes []types.PropertyChange
	for _, p := range content.PropSet {
		before, had := old[p.Name]
		if had && reflect.DeepEqual(before, p.Val) {
			continue
		}
		changes = append(changes, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
	}
	missing := map[string]bool{}
	for _, m := range content.MissingSet {
		missing[m.Path] = true
	}
	hub := hubOf(ctx)
	for name := range old {
		if _, has := now[name]; has || missing[name] {
			continue
		}
		op := types.PropertyChangeOpAssign
		if name != "config" && sight.InConfig(name) && hub != nil && !hub.sight.Readable(content.Obj) {
			// "The property was removed because a containing property was removed or
			// unset" (API, PropertyChange.op).
			op = types.PropertyChangeOpIndirectRemove
		}
		changes = append(changes, types.PropertyChange{Name: name, Op: op})
	}
	return changes
}
