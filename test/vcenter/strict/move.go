// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MoveIntoFolderTask moves objects that have no other operation, and blocks a second one. The simulator panics if a
// moved object is deleted, or would restore it.
func (g *Gate) MoveIntoFolderTask(ctx *simulator.Context, req *types.MoveIntoFolder_Task) soap.HasFault {
	folder, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok {
		return &methods.MoveIntoFolder_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	answer := func(task types.ManagedObjectReference) soap.HasFault {
		return &methods.MoveIntoFolder_TaskBody{Res: &types.MoveIntoFolder_TaskResponse{Returnval: task}}
	}
	if other, busy := g.engage(req.List); busy {
		return answer(failing(ctx, req.This, "MoveIntoFolder_Task", &types.TaskInProgress{Task: other}))
	}
	for _, ref := range req.List {
		if ctx.Map.Get(ref) == nil {
			g.release(req.List)
			return &methods.MoveIntoFolder_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})}
		}
	}
	g.starts.Lock()
	body := folder.MoveIntoFolderTask(ctx, req)
	g.starts.Unlock()
	started, ok := body.(*methods.MoveIntoFolder_TaskBody)
	if !ok || started.Res == nil {
		g.release(req.List)
		return body
	}
	g.onEnd(ctx, started.Res.Returnval, func(types.TaskInfo) { g.release(req.List) })
	return body
}

// engage marks all of them as busy, unless one already is. It then returns that one's task.
func (g *Gate) engage(refs []types.ManagedObjectReference) (other types.ManagedObjectReference, busy bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ref := range refs {
		if other, busy := g.running[ref]; busy {
			return other, true
		}
	}
	for _, ref := range refs {
		g.running[ref] = types.ManagedObjectReference{}
	}
	return other, false
}

func (g *Gate) release(refs []types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ref := range refs {
		delete(g.running, ref)
	}
}
