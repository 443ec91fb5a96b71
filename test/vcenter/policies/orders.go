// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// view is the privilege on the root folder that every call takes: "NoPermission: RESOURCE
// (vm-996:2000), ACTION (queryAssociatedProfile)" without it (openshift-docs#25015).
const view = "StorageProfile.View"

// connect is the call that clients begin with, and that needs no privilege.
const connect = "PbmRetrieveServiceContent"

// injectable maps names to the faults that can be injected.
var injectable = map[string]func() types.BaseMethodFault{
	"NoPermission":    func() types.BaseMethodFault { return &types.NoPermission{PrivilegeId: view} },
	"InvalidArgument": func() types.BaseMethodFault { return &types.InvalidArgument{InvalidProperty: "profileId"} },
	"PbmFault":        func() types.BaseMethodFault { return &pbmtypes.PbmFault{} },
}

// Fail makes all later calls of a method fail with the fault. Nil ends that.
func (s *Service) Fail(method string, fault types.BaseMethodFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault == nil {
		delete(s.faults, method)
		return
	}
	s.faults[method] = fault
}

// refuse rejects calls with injected faults, and calls of accounts without permission.
func (s *Service) refuse(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	s.mu.Lock()
	fault := s.faults[method.Name]
	s.mu.Unlock()
	if fault == nil && ctx.Session != nil && method.Name != connect && !s.allowed(ctx.Session.UserName, view) {
		fault = &types.NoPermission{Object: &method.This, PrivilegeId: view}
	}
	return nil, fault
}

// Remove deletes a policy, as an administrator does.
func (s *Service) Remove(name string) (err error) {
	s.locked(func() {
		for id, profile := range s.all() {
			if profile == name {
				s.profiles.PbmDelete(&pbmtypes.PbmDelete{ProfileId: []pbmtypes.PbmProfileId{{UniqueId: id}}})
				return
			}
		}
		err = fmt.Errorf("name: %q: must be one of %q", name, slices.Sorted(maps.Values(s.all())))
	})
	return err
}

// locked keeps calls of clients away from the policies.
func (s *Service) locked(do func()) {
	ctx := &simulator.Context{Context: context.Background(), Map: s.registry, Session: &simulator.Session{}}
	ctx.WithLock(s.profiles, do)
}

// all are the names of the policies, by ID.
func (s *Service) all() map[string]string {
	out := map[string]string{}
	ids, _ := s.profiles.PbmQueryProfile(&pbmtypes.PbmQueryProfile{
		ResourceType: pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
	}).(*pbmmethods.PbmQueryProfileBody)
	if ids == nil || ids.Res == nil {
		return out
	}
	content, _ := s.profiles.PbmRetrieveContent(&pbmtypes.PbmRetrieveContent{ProfileIds: ids.Res.Returnval}).(*pbmmethods.PbmRetrieveContentBody)
	if content == nil || content.Res == nil {
		return out
	}
	for _, p := range content.Res.Returnval {
		out[p.GetPbmProfile().ProfileId.UniqueId] = p.GetPbmProfile().Name
	}
	return out
}

// Routes adds commands to a control page:
//
//	PUT    /policies/fault?method=M&fault=F  every call of method M fails
//	DELETE /policies/fault?method=M          ends the failures
//	POST   /policies/add?name=N&tag=T        creates a policy that requires a tag
//	POST   /policies/remove?name=N           deletes a policy
func (s *Service) Routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /policies/fault", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		fault, ok := injectable[q.Get("fault")]
		if !ok {
			http.Error(w, fmt.Sprintf("fault: %q: must be one of %q", q.Get("fault"), slices.Sorted(maps.Keys(injectable))), http.StatusBadRequest)
			return
		}
		s.Fail(q.Get("method"), fault())
	})
	mux.HandleFunc("DELETE /policies/fault", func(_ http.ResponseWriter, r *http.Request) { s.Fail(r.URL.Query().Get("method"), nil) })
	mux.HandleFunc("POST /policies/add", func(_ http.ResponseWriter, r *http.Request) {
		s.locked(func() { s.add(r.URL.Query().Get("name"), r.URL.Query().Get("tag")) })
	})
	mux.HandleFunc("POST /policies/remove", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Remove(r.URL.Query().Get("name")); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
}
