// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func ended(info types.TaskInfo) bool {
	return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
}

// start runs the task of a folder. Tasks of one folder must not start at the same time:
// the simulator enters each into the folder's recent tasks without a lock.
func (g *Gate) start(ctx *simulator.Context, task *simulator.Task) types.ManagedObjectReference {
	g.starts.Lock()
	defer g.starts.Unlock()
	return task.Run(ctx)
}

// onEnd calls do once when the task ends, or immediately if it has ended. Several callers may wait for one task.
func (g *Gate) onEnd(ctx *simulator.Context, ref types.ManagedObjectReference, do func(types.TaskInfo)) {
	g.mu.Lock()
	g.waiting[ref] = append(g.waiting[ref], do)
	g.mu.Unlock()

	task, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return
	}
	// A context of its own, as the task updates itself on behalf of ours.
	var info types.TaskInfo
	reader := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	reader.WithLock(task, func() { info = task.Info })
	if ended(info) {
		g.settle(ref, info)
	}
}

func (g *Gate) settle(ref types.ManagedObjectReference, info types.TaskInfo) {
	g.mu.Lock()
	all := g.waiting[ref]
	delete(g.waiting, ref)
	g.mu.Unlock()
	for _, do := range all {
		do(info)
	}
}

// result waits for the task and returns its result or fault.
func (g *Gate) result(ctx *simulator.Context, ref types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	done := make(chan types.TaskInfo, 1)
	g.onEnd(ctx, ref, func(info types.TaskInfo) { done <- info })
	info := <-done
	if info.State == types.TaskInfoStateError {
		if info.Error != nil && info.Error.Fault != nil {
			return nil, info.Error.Fault
		}
		return nil, &types.SystemError{Reason: "the task failed without a fault"}
	}
	return info.Result, nil
}

// failing runs a task on target that ends with the fault.
func failing(ctx *simulator.Context, target types.ManagedObjectReference, name string, fault types.BaseMethodFault) types.ManagedObjectReference {
	return simulator.CreateTask(target, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, fault
	}).Run(ctx)
}

// Wait waits for a task and returns its result or fault, for callers inside of the
// process.
func (g *Gate) Wait(ctx *simulator.Context, ref types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	return g.result(ctx, ref)
}
