// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// walk follows the selections of a filter.
type walk struct {
	ctx      *simulator.Context
	specs    map[string]*types.TraversalSpec
	followed map[step]struct{}
	visited  refSet
	walks    bool
	selected []types.ManagedObjectReference
}

type step struct {
	obj  types.ManagedObjectReference
	spec *types.TraversalSpec
}

// selectMembers evaluates which objects the filter's specification selects now.
func (f *Filter) selectMembers(ctx *simulator.Context) ([]types.ManagedObjectReference, types.BaseMethodFault) {
	w := &walk{ctx: ctx, specs: map[string]*types.TraversalSpec{}, followed: map[step]struct{}{}, visited: refSet{}}
	for _, set := range f.Spec.ObjectSet {
		if ctx.Session.Get(set.Obj) == nil || !exists(ctx, set.Obj) {
			if !f.primed && !isTrue(f.Spec.ReportMissingObjectsInResults) {
				return nil, &types.ManagedObjectNotFound{Obj: set.Obj}
			}
			continue
		}
		if set.SelectSet == nil || !isTrue(set.Skip) {
			w.selected = append(w.selected, set.Obj)
		}
		if fault := w.follow(set.Obj, set.SelectSet); fault != nil {
			return nil, fault
		}
	}
	f.visited, f.walks = w.visited, w.walks
	return w.selected, nil
}

func (w *walk) follow(obj types.ManagedObjectReference, selections []types.BaseSelectionSpec) types.BaseMethodFault {
	if len(selections) == 0 {
		return nil
	}
	w.visited[obj] = struct{}{}
	w.walks = w.walks || !strings.HasSuffix(obj.Type, "View")
	for _, s := range selections {
		if ts, ok := s.(*types.TraversalSpec); ok && ts.Name != "" {
			w.specs[ts.Name] = ts
		}
	}
	for _, s := range selections {
		ts, ok := s.(*types.TraversalSpec)
		if !ok {
			if ts = w.specs[s.GetSelectionSpec().Name]; ts == nil {
				return &types.InvalidArgument{InvalidProperty: "undefined TraversalSpec name"}
			}
		}
		at := step{obj, ts}
		if _, done := w.followed[at]; done {
			continue
		}
		w.followed[at] = struct{}{}
		for _, ref := range w.refs(obj, ts.Path) {
			if !sees(w.ctx, ref) {
				continue
			}
			if !isTrue(ts.Skip) {
				w.selected = append(w.selected, ref)
			}
			if fault := w.follow(ref, ts.SelectSet); fault != nil {
				return fault
			}
		}
	}
	return nil
}

// refs reads the references at a property path; a path that the object does not
// have holds none.
func (w *walk) refs(ref types.ManagedObjectReference, property string) []types.ManagedObjectReference {
	obj := w.ctx.Session.Get(ref)
	if obj == nil {
		return nil
	}
	var found []types.ManagedObjectReference
	w.ctx.WithLock(ref, func() {
		value, ok := managed(obj)
		for _, name := range strings.Split(property, ".") {
			for ok && (value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface) {
				if value.IsNil() {
					return
				}
				value = value.Elem()
			}
			if !ok || value.Kind() != reflect.Struct || name == "" {
				return
			}
			value = value.FieldByName(strings.ToUpper(name[:1]) + name[1:])
			ok = value.IsValid()
		}
		if !ok {
			return
		}
		switch v := value.Interface().(type) {
		case types.ManagedObjectReference:
			found = []types.ManagedObjectReference{v}
		case *types.ManagedObjectReference:
			if v != nil {
				found = []types.ManagedObjectReference{*v}
			}
		case []types.ManagedObjectReference:
			found = slices.Clone(v)
		}
	})
	return found
}

// managed returns the managed object in the simulator's wrapper, whose first field it is.
func managed(obj mo.Reference) (reflect.Value, bool) {
	value := reflect.ValueOf(obj)
	for {
		for value.Kind() == reflect.Pointer {
			if value.IsNil() {
				return value, false
			}
			value = value.Elem()
		}
		if value.Kind() != reflect.Struct || value.NumField() == 0 {
			return value, false
		}
		if path.Base(value.Type().PkgPath()) == "mo" {
			return value, true
		}
		value = value.Field(0)
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func isActive(res soap.HasFault) bool {
	body, ok := res.(*methods.SessionIsActiveBody)
	return ok && body.Res != nil && body.Res.Returnval
}
