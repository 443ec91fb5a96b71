// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Authority answers privilege queries instead of the authorization manager. The simulator's own grants every privilege
// to every account.
type Authority struct {
	mo.ServiceManager // a managed object, as the simulator's searches expect one

	sight *Sight
}

// NewAuthority registers the authority. The caller redirects calls to it.
func NewAuthority(s *Sight) *Authority {
	a := &Authority{sight: s}
	a.Self = types.ManagedObjectReference{Type: "SlipwayAuthority", Value: "authority"}
	s.registry.Put(a)
	return a
}

// accountOf returns the account of a session, by its key.
func (a *Authority) accountOf(ctx *simulator.Context, key string) (string, bool) {
	if key == ctx.Session.Key {
		return ctx.Session.UserName, true
	}
	manager, ok := ctx.Session.Get(ctx.Map.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return "", false
	}
	i := slices.IndexFunc(manager.SessionList, func(s types.UserSession) bool { return s.Key == key })
	if i < 0 {
		return "", false
	}
	return manager.SessionList[i].UserName, true
}

func (a *Authority) granted(account string, entity types.ManagedObjectReference, ids []string) []types.PrivilegeAvailability {
	var available []types.PrivilegeAvailability
	for _, id := range ids {
		available = append(available, types.PrivilegeAvailability{PrivId: id, IsGranted: a.sight.Allowed(account, entity, id)})
	}
	return available
}

func (a *Authority) onEntities(account string, entities []types.ManagedObjectReference, ids []string) []types.EntityPrivilege {
	var result []types.EntityPrivilege
	for _, e := range entities {
		result = append(result, types.EntityPrivilege{Entity: e, PrivAvailability: a.granted(account, e, ids)})
	}
	return result
}

// HasPrivilegeOnEntities returns the privileges of a session on several entities.
func (a *Authority) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	account, ok := a.accountOf(ctx, req.SessionId)
	if !ok {
		return &methods.HasPrivilegeOnEntitiesBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "sessionId"})}
	}
	return &methods.HasPrivilegeOnEntitiesBody{Res: &types.HasPrivilegeOnEntitiesResponse{
		Returnval: a.onEntities(account, req.Entity, req.PrivId),
	}}
}

// HasPrivilegeOnEntity returns the privileges of a session on one entity.
func (a *Authority) HasPrivilegeOnEntity(ctx *simulator.Context, req *types.HasPrivilegeOnEntity) soap.HasFault {
	account, ok := a.accountOf(ctx, req.SessionId)
	if !ok {
		return &methods.HasPrivilegeOnEntityBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "sessionId"})}
	}
	res := &types.HasPrivilegeOnEntityResponse{}
	for _, p := range a.granted(account, req.Entity, req.PrivId) {
		res.Returnval = append(res.Returnval, p.IsGranted)
	}
	return &methods.HasPrivilegeOnEntityBody{Res: res}
}

// HasUserPrivilegeOnEntities returns the privileges of an account on several entities.
func (a *Authority) HasUserPrivilegeOnEntities(_ *simulator.Context, req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: &types.HasUserPrivilegeOnEntitiesResponse{
		Returnval: a.onEntities(req.UserName, req.Entities, req.PrivId),
	}}
}

// FetchUserPrivilegeOnEntities lists the privileges of an account on several entities.
func (a *Authority) FetchUserPrivilegeOnEntities(_ *simulator.Context, req *types.FetchUserPrivilegeOnEntities) soap.HasFault {
	res := &types.FetchUserPrivilegeOnEntitiesResponse{}
	for _, e := range req.Entities {
		res.Returnval = append(res.Returnval, types.UserPrivilegeResult{Entity: e, Privileges: a.sight.Privileges(req.UserName, e)})
	}
	return &methods.FetchUserPrivilegeOnEntitiesBody{Res: res}
}
