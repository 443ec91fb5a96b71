// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// operation is a call on a virtual machine whose task the gate runs, because it takes long, or waits for a slot or an
// answer.
type operation struct {
	target types.ManagedObjectReference
	call   string
	body   types.AnyType
}

// SetDelay sets the duration of a call's tasks. It returns false for a call without tasks of the gate.
func (g *Gate) SetDelay(call string, d time.Duration) bool {
	if taskAnswers[call] == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delays[call] = d
	return true
}

// supervised reports whether the gate runs the task of the call.
func (g *Gate) supervised(method *simulator.Method) bool {
	if method.This.Type != "VirtualMachine" || taskAnswers[method.Name] == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, asks := g.asking[method.This]
	return g.delays[method.Name] > 0 || g.turns.limited() || asks && method.Name == "PowerOnVM_Task"
}

// supervise makes the gate execute the call.
func supervise(method *simulator.Method) {
	method.Body = &operation{target: method.This, call: method.Name, body: method.Body}
	method.This, method.Name = gateRef, "Perform"
}

// Perform starts the task of an operation. The virtual machine rejects a second operation while the task runs.
func (g *Gate) Perform(ctx *simulator.Context, op *operation) soap.HasFault {
	clone := op.call == "CloneVM_Task" // several clones of one source run side by side
	g.mu.Lock()
	other, busy := g.running[op.target]
	if !busy && !clone {
		g.running[op.target] = types.ManagedObjectReference{}
	}
	ended := g.ended
	g.mu.Unlock()
	answer := taskAnswers[op.call]
	if busy && !clone {
		return answer(failing(ctx, op.target, op.call, &types.TaskInProgress{Task: other}))
	}
	task := simulator.CreateTask(ownLock(op, clone), op.call, func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		defer func() {
			if !clone {
				g.mu.Lock()
				defer g.mu.Unlock()
				delete(g.running, op.target)
			}
		}()
		return g.perform(ctx, task, op, ended)
	})
	task.Info.Name = op.call
	task.Info.DescriptionId = "VirtualMachine." + strings.TrimSuffix(strings.TrimSuffix(lower(op.call), "_Task"), "VM")
	ref := task.Run(ctx)
	if !clone {
		g.mu.Lock()
		if _, still := g.running[op.target]; still {
			g.running[op.target] = ref
		}
		g.mu.Unlock()
	}
	return answer(ref)
}

// ownLock is the lock of the task while it waits. It is not that of the virtual machine, which readers need.
func ownLock(op *operation, clone bool) types.ManagedObjectReference {
	value := op.target.Value
	if clone {
		if req, ok := op.body.(*types.CloneVM_Task); ok {
			value += "/" + req.Folder.Value + "/" + req.Name
		}
	}
	return types.ManagedObjectReference{Type: "SlipwayOperation", Value: value}
}

func lower(call string) string { return strings.ToLower(call[:1]) + call[1:] }

// progressSteps is the number of progress reports of a long task.
const progressSteps = 10

// perform waits until the operation can run, and runs it.
func (g *Gate) perform(ctx *simulator.Context, task *simulator.Task, op *operation, ended <-chan struct{}) (types.AnyType, types.BaseMethodFault) {
	ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.entity", Val: op.target}})
	cancelled := make(chan struct{})
	g.onEnd(ctx, task.Self, func(types.TaskInfo) { close(cancelled) })
	w := wait{cancelled: cancelled, ended: ended}

	host := g.hostOf(ctx, op)
	if !g.turns.take(host, nil) {
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.state", Val: types.TaskInfoStateQueued}})
		if !g.turns.take(host, &w) {
			return nil, w.fault()
		}
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.state", Val: types.TaskInfoStateRunning}})
	}
	defer g.turns.give(host)

	g.mu.Lock()
	delay := g.delays[op.call]
	g.mu.Unlock()
	for done := range progressSteps {
		pause := time.NewTimer(delay / progressSteps)
		if !w.until(pause.C) {
			pause.Stop()
			return nil, w.fault()
		}
		if op.call == "PromoteDisks_Task" {
			ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.progress", Val: int32(100 * (done + 1) / progressSteps)}})
		}
	}
	if fault := g.askFirst(ctx, op, &w); fault != nil {
		return nil, fault
	}
	return g.carryOut(ctx, op)
}

// carryOut makes the call and waits for its task.
func (g *Gate) carryOut(ctx *simulator.Context, op *operation) (types.AnyType, types.BaseMethodFault) {
	name := strings.Replace(op.call, "_Task", "Task", 1)
	args := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(op.body)}
	var res []reflect.Value
	if handled["VirtualMachine"][op.call] {
		res = reflect.ValueOf(g).MethodByName(name).Call(args)
	} else {
		vm, ok := ctx.Map.Get(op.target).(*simulator.VirtualMachine)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: op.target}
		}
		ctx.WithLock(vm, func() { res = reflect.ValueOf(vm).MethodByName(name).Call(args) })
	}
	body := reflect.ValueOf(res[0].Interface())
	if has, ok := body.Interface().(soap.HasFault); ok && has.Fault() != nil {
		if fault, ok := has.Fault().VimFault().(types.BaseMethodFault); ok {
			return nil, fault
		}
		return nil, &types.SystemError{Reason: has.Fault().String}
	}
	ref, ok := body.Elem().FieldByName("Res").Elem().FieldByName("Returnval").Interface().(types.ManagedObjectReference)
	if !ok {
		return nil, &types.SystemError{Reason: "the simulator did not start " + op.call}
	}
	return g.result(ctx, ref)
}

// hostOf returns the host of the operation, or the pool of a clone without a host.
func (g *Gate) hostOf(ctx *simulator.Context, op *operation) string {
	if req, ok := op.body.(*types.CloneVM_Task); ok {
		for _, ref := range []*types.ManagedObjectReference{req.Spec.Location.Host, req.Spec.Location.Pool} {
			if ref != nil {
				return ref.Value
			}
		}
	}
	if vm, ok := ctx.Map.Get(op.target).(*simulator.VirtualMachine); ok && vm.Runtime.Host != nil {
		return vm.Runtime.Host.Value
	}
	return ""
}

// wait ends the waits of a task early.
type wait struct{ cancelled, ended <-chan struct{} }

// until waits for done. It returns false if the task must end.
func (w *wait) until(done <-chan time.Time) bool {
	select {
	case <-done:
		return true
	case <-w.cancelled:
	case <-w.ended:
	}
	return false
}

// fault returns the fault of a task that ended early.
func (w *wait) fault() types.BaseMethodFault {
	select {
	case <-w.cancelled:
		return &types.RequestCanceled{}
	default:
		return restarted()
	}
}

// Restart ends running operations, and creations that have not created anything, without any effect.
func (g *Gate) Restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.generation++
	close(g.ended)
	g.ended = make(chan struct{})
}

// lost reports whether a restart has ended an operation of the generation.
func (g *Gate) lost(generation int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return generation != g.generation
}

func (g *Gate) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation
}

// restarted is the fault of a task that a restart has ended. No client receives it.
func restarted() types.BaseMethodFault { return &types.SystemError{Reason: "vpxd was restarted"} }
