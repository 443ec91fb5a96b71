// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CreateContainerView creates a view that follows its container. The simulator's own view keeps objects that were
// moved out, and duplicates objects that were moved within the container.
//
// Calls to the view manager are redirected here.
func (h *Hub) CreateContainerView(ctx *simulator.Context, req *types.CreateContainerView) soap.HasFault {
	res := ctx.Map.ViewManager().CreateContainerView(ctx, req)
	body, ok := res.(*methods.CreateContainerViewBody)
	if !ok || body.Res == nil {
		return res
	}
	inner, ok := ctx.Session.Get(body.Res.Returnval).(*simulator.ContainerView)
	if !ok {
		return res
	}
	v := &ContainerView{ContainerView: inner}
	ctx.Session.Registry.Put(v)
	ctx.Map.AddHandler(v) // in place of the simulator's, which has the same reference
	v.fill(ctx)
	return res
}

// ContainerView is a view of the current content of a container.
type ContainerView struct{ *simulator.ContainerView }

// fill corrects the content that the simulator has filled in. It does so before the view follows changes. Otherwise
// an object that is created, moved or removed in between would be missing or left over permanently.
func (v *ContainerView) fill(ctx *simulator.Context) {
	ctx.WithLock(v, func() {
		view, listed := []types.ManagedObjectReference{}, refSet{}
		for _, ref := range v.View {
			if v.contains(ctx, ref) {
				view = append(view, ref)
				listed[ref] = struct{}{}
			}
		}
		for _, e := range ctx.Map.All("") {
			if ref := e.Reference(); !listed.has(ref) && v.contains(ctx, ref) {
				view = append(view, ref)
			}
		}
		v.View = view
	})
}

// PutObject is called by the registry for an object that is new or was moved.
func (v *ContainerView) PutObject(ctx *simulator.Context, obj mo.Reference) {
	switch obj.Reference().Type {
	case "Task", "PropertyFilter":
		return
	}
	ctx.WithLock(v, func() {
		view := v.View
		for _, ref := range append(v.below(ctx, obj, nil), obj.Reference()) {
			inside, listed := v.contains(ctx, ref), slices.Contains(view, ref)
			switch {
			case inside && !listed:
				view = append(slices.Clone(view), ref)
			case !inside && listed:
				view = slices.DeleteFunc(slices.Clone(view), func(r types.ManagedObjectReference) bool { return r == ref })
			}
		}
		if len(view) != len(v.View) {
			ctx.Update(v, []types.PropertyChange{{Name: "view", Val: view}})
		}
	})
}

// below returns the descendants of a moved folder.
func (v *ContainerView) below(ctx *simulator.Context, obj mo.Reference, found []types.ManagedObjectReference) []types.ManagedObjectReference {
	folder, ok := obj.(*simulator.Folder)
	if !ok {
		return found
	}
	for _, ref := range folder.ChildEntity {
		if child := ctx.Map.Get(ref); child != nil {
			found = v.below(ctx, child, append(found, ref))
		}
	}
	return found
}

// contains reports whether the object belongs in the view.
func (v *ContainerView) contains(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	obj := ctx.Map.Get(ref)
	if obj == nil || ref == v.Container || !v.selects(obj) {
		return false
	}
	return v.within(ctx, obj)
}

// within goes up from the object to the container.
func (v *ContainerView) within(ctx *simulator.Context, obj mo.Reference) bool {
	for _, up := range parents(obj) {
		if up == v.Container {
			return true
		}
		if next := ctx.Map.Get(up); v.Recursive && next != nil && v.within(ctx, next) {
			return true
		}
	}
	return false
}

// parents returns the objects whose child list contains obj.
func parents(obj mo.Reference) []types.ManagedObjectReference {
	var up []types.ManagedObjectReference
	if e, ok := obj.(mo.Entity); ok && e.Entity().Parent != nil {
		up = append(up, *e.Entity().Parent)
	}
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		for _, ref := range []*types.ManagedObjectReference{vm.ResourcePool, vm.Runtime.Host} {
			if ref != nil {
				up = append(up, *ref)
			}
		}
	}
	return up
}

// selects reports whether the object is of one of the view's kinds, or derived from one.
func (v *ContainerView) selects(obj mo.Reference) bool {
	if _, entity := obj.(mo.Entity); !entity {
		return false
	}
	kind := obj.Reference().Type
	if len(v.Type) == 0 || slices.Contains(v.Type, kind) {
		return true
	}
	object, ok := managed(obj)
	if !ok {
		return false
	}
	return slices.ContainsFunc(v.Type, func(base string) bool {
		field, has := object.Type().FieldByName(base)
		return has && field.Anonymous
	})
}
