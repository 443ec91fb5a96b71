// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Search replaces the search index. It finds objects that the account sees, by the properties that vCenter knows.
type Search struct {
	mo.ServiceManager // a managed object, as the simulator's searches expect one

	sight *Sight
}

// NewSearch registers the search. The caller redirects calls to it.
func NewSearch(s *Sight) *Search {
	f := &Search{sight: s}
	f.Self = types.ManagedObjectReference{Type: "SlipwaySearch", Value: "search"}
	s.registry.Put(f)
	return f
}

// byConfig removes objects that cannot be found by their configuration, because it is unset or the account does not
// see the object.
func (f *Search) byConfig(ctx *simulator.Context, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	var found []types.ManagedObjectReference
	for _, ref := range refs {
		if f.sight.Readable(ref) && f.sight.Sees(ctx.Session.UserName, ref) {
			found = append(found, ref)
		}
	}
	return found
}

func one(refs []types.ManagedObjectReference) *types.ManagedObjectReference {
	if len(refs) == 0 {
		return nil
	}
	return &refs[0]
}

// FindAllByUuid finds virtual machines or hosts.
func (f *Search) FindAllByUuid(ctx *simulator.Context, req *types.FindAllByUuid) soap.HasFault { // the API's name
	return &methods.FindAllByUuidBody{Res: &types.FindAllByUuidResponse{Returnval: f.uuid(ctx, req)}}
}

// FindByUuid finds a virtual machine or a host.
func (f *Search) FindByUuid(ctx *simulator.Context, req *types.FindByUuid) soap.HasFault { // the API's name
	all := types.FindAllByUuid(*req)
	return &methods.FindByUuidBody{Res: &types.FindByUuidResponse{Returnval: one(f.uuid(ctx, &all))}}
}

func (f *Search) uuid(ctx *simulator.Context, req *types.FindAllByUuid) []types.ManagedObjectReference {
	body, ok := ctx.Map.SearchIndex().FindAllByUuid(ctx, req).(*methods.FindAllByUuidBody)
	if !ok || body.Res == nil {
		return nil
	}
	return f.byConfig(ctx, body.Res.Returnval)
}

// FindByDatastorePath finds a virtual machine by the path of its .vmx file.
func (f *Search) FindByDatastorePath(ctx *simulator.Context, req *types.FindByDatastorePath) soap.HasFault {
	body, ok := ctx.Map.SearchIndex().FindByDatastorePath(ctx, req).(*methods.FindByDatastorePathBody)
	if ok && body.Res != nil && body.Res.Returnval != nil {
		body.Res.Returnval = one(f.byConfig(ctx, []types.ManagedObjectReference{*body.Res.Returnval}))
	}
	return body
}

// FindChild finds a child by its name.
func (f *Search) FindChild(ctx *simulator.Context, req *types.FindChild) soap.HasFault {
	body, ok := ctx.Map.SearchIndex().FindChild(ctx, req).(*methods.FindChildBody)
	if ok && body.Res != nil {
		body.Res.Returnval = f.named(ctx, body.Res.Returnval)
	}
	return body
}

// FindByInventoryPath finds an object by its inventory path.
func (f *Search) FindByInventoryPath(ctx *simulator.Context, req *types.FindByInventoryPath) soap.HasFault {
	body, ok := ctx.Map.SearchIndex().FindByInventoryPath(ctx, req).(*methods.FindByInventoryPathBody)
	if ok && body.Res != nil {
		body.Res.Returnval = f.named(ctx, body.Res.Returnval)
	}
	return body
}

// named is false to an object that the account does not see, or that has another
// name now.
func (f *Search) named(ctx *simulator.Context, ref *types.ManagedObjectReference) *types.ManagedObjectReference {
	if ref == nil || !f.sight.Sees(ctx.Session.UserName, *ref) {
		return nil
	}
	if d, disguised := f.sight.Disguise(*ref); disguised && d.Name != "" {
		return nil
	}
	return ref
}
