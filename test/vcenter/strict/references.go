// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

var refType = reflect.TypeFor[types.ManagedObjectReference]()

// references returns all object references in value, at any depth. Empty references mean "not given" and are omitted.
func references(value reflect.Value) []types.ManagedObjectReference {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return references(value.Elem())
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		var refs []types.ManagedObjectReference
		for i := range value.Len() {
			refs = append(refs, references(value.Index(i))...)
		}
		return refs
	case reflect.Struct:
		if value.Type() == refType {
			ref, _ := value.Interface().(types.ManagedObjectReference)
			if ref.Value == "" {
				return nil
			}
			return []types.ManagedObjectReference{ref}
		}
		var refs []types.ManagedObjectReference
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				refs = append(refs, references(value.Field(i))...)
			}
		}
		return refs
	}
	return nil
}

// checkReferences rejects a call that refers to a missing object.
func checkReferences(ctx *simulator.Context, body types.AnyType) types.BaseMethodFault {
	for _, ref := range references(reflect.ValueOf(body)) {
		if ctx.Session.Get(ref) == nil {
			return &types.ManagedObjectNotFound{Obj: ref}
		}
	}
	return nil
}

// checkKind rejects an object of another kind than that of the property. A nil reference means that none is given,
// which is valid.
func checkKind[T any](ctx *simulator.Context, ref *types.ManagedObjectReference, property string) types.BaseMethodFault {
	if ref == nil {
		return nil
	}
	if _, ok := ctx.Map.Get(*ref).(T); !ok {
		return &types.InvalidArgument{InvalidProperty: property}
	}
	return nil
}

func checkPool(ctx *simulator.Context, ref *types.ManagedObjectReference, property string) types.BaseMethodFault {
	if ref == nil {
		return nil
	}
	switch ctx.Map.Get(*ref).(type) {
	case *simulator.ResourcePool, *simulator.VirtualApp:
		return nil
	}
	return &types.InvalidArgument{InvalidProperty: property}
}

// checkVMFolder refuses folders that cannot hold virtual machines.
func checkVMFolder(ctx *simulator.Context, ref *types.ManagedObjectReference, property string) types.BaseMethodFault {
	if ref == nil {
		return nil
	}
	if folder, ok := ctx.Map.Get(*ref).(*simulator.Folder); ok {
		for _, kind := range folder.ChildType {
			if kind == "VirtualMachine" {
				return nil
			}
		}
	}
	return &types.InvalidArgument{InvalidProperty: property}
}

// checkCall refuses calls that would end the simulator, or leave one of its locks held without limit. Reads are not
// checked, because the simulator answers an unknown object correctly.
func checkCall(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	switch body := method.Body.(type) {
	case *types.PostEvent:
		if event, ok := body.EventToPost.(*types.EventEx); ok && (event.ObjectType == "" || event.ObjectId == "") {
			return &types.InvalidArgument{InvalidProperty: "eventToPost"}
		}
	case *types.PlaceVm:
		// The simulator always picks a host of the cluster and ignores the given one.
		if len(body.PlacementSpec.Hosts) != 0 {
			return &types.NotSupported{}
		}
		if fault := checkReferences(ctx, method.Body); fault != nil {
			return fault
		}
		// It also picks a datastore by the number of the cluster's datastores.
		if cluster, ok := ctx.Map.Get(method.This).(*simulator.ClusterComputeResource); ok {
			given := body.PlacementSpec.Datastores
			for len(given) > 0 && len(body.PlacementSpec.Datastores) < len(cluster.Datastore) {
				body.PlacementSpec.Datastores = append(body.PlacementSpec.Datastores, given...)
			}
		}
		return nil
	case *types.ImportVApp, *types.MarkAsVirtualMachine:
		return checkReferences(ctx, method.Body)
	}
	if strings.HasSuffix(method.Name, "_Task") {
		return checkReferences(ctx, method.Body)
	}
	return nil
}

func first(faults ...types.BaseMethodFault) types.BaseMethodFault {
	for _, fault := range faults {
		if fault != nil {
			return fault
		}
	}
	return nil
}
