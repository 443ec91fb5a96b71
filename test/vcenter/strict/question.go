// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// question is a question that blocks a virtual machine.
type question struct {
	info     types.VirtualMachineQuestionInfo
	answered chan struct{}
}

// newQuestion returns a question with the given choices. Their keys are their numbers.
func newQuestion(text string, choices []string) *question {
	q := &question{answered: make(chan struct{}), info: types.VirtualMachineQuestionInfo{Id: uuid.NewString()[:8], Text: text}}
	for i, choice := range choices {
		q.info.Choice.ChoiceInfo = append(q.info.Choice.ChoiceInfo, &types.ElementDescription{
			Description: types.Description{Label: choice, Summary: choice}, Key: string(rune('0' + i)),
		})
	}
	return q
}

// AskAtPowerOn makes the next power-on of a virtual machine ask a question and wait for
// the answer, as after a copy of its files ("did you move it, or did you copy it?").
func (g *Gate) AskAtPowerOn(vm types.ManagedObjectReference, text string, choices ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking[vm] = newQuestion(text, choices)
}

// Ask makes a virtual machine ask a question now, for example as if it had no disk space. Until it is answered no
// other operation is possible.
func (g *Gate) Ask(ctx *simulator.Context, vm *simulator.VirtualMachine, text string, choices ...string) {
	q := newQuestion(text, choices)
	g.mu.Lock()
	g.asked[vm.Self] = q
	g.mu.Unlock()
	showQuestion(ctx, vm, q.info)
}

// askFirst asks the question of the power-on, and waits for the answer.
func (g *Gate) askFirst(ctx *simulator.Context, op *operation, w *wait) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(op.target).(*simulator.VirtualMachine)
	g.mu.Lock()
	q := g.asking[op.target]
	if ok && q != nil && op.call == "PowerOnVM_Task" {
		delete(g.asking, op.target)
		g.asked[op.target] = q
	} else {
		q = nil
	}
	g.mu.Unlock()
	if q == nil {
		return nil
	}
	showQuestion(ctx, vm, q.info)
	select {
	case <-q.answered:
		return nil
	case <-w.cancelled:
	case <-w.ended:
	}
	g.settleQuestion(ctx, vm)
	return w.fault()
}

func showQuestion(ctx *simulator.Context, vm *simulator.VirtualMachine, val types.AnyType) {
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(vm, func() {
		own.Update(vm, []types.PropertyChange{{Name: "runtime.question", Val: val}, {Name: "summary.runtime.question", Val: val}})
	})
}

// settleQuestion removes the question of the virtual machine and releases the operation that waits for the answer.
func (g *Gate) settleQuestion(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	g.mu.Lock()
	q := g.asked[vm.Self]
	delete(g.asked, vm.Self)
	g.mu.Unlock()
	if q != nil {
		showQuestion(ctx, vm, nil)
		close(q.answered)
	}
}

// AnswerVM answers the question of a virtual machine. The identifier and the choice must
// be those of the question that it has now (API, AnswerVM).
func (g *Gate) AnswerVM(ctx *simulator.Context, req *types.AnswerVM) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.AnswerVMBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	g.mu.Lock()
	q := g.asked[req.This]
	g.mu.Unlock()
	switch {
	case q == nil || q.info.Id != req.QuestionId:
		return &methods.AnswerVMBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "questionId"})}
	case !slices.ContainsFunc(q.info.Choice.ChoiceInfo, func(c types.BaseElementDescription) bool {
		return c.GetElementDescription().Key == req.AnswerChoice
	}):
		return &methods.AnswerVMBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "answerChoice"})}
	}
	g.settleQuestion(ctx, vm)
	return &methods.AnswerVMBody{Res: &types.AnswerVMResponse{}}
}

// Disable makes methods of a virtual machine answer MethodDisabled, and lists them in its disabledMethod, as vCenter
// does during an import. Without methods all are enabled again.
func (g *Gate) Disable(ctx *simulator.Context, vm *simulator.VirtualMachine, calls ...string) {
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(vm, func() {
		own.Update(vm, []types.PropertyChange{{Name: "disabledMethod", Val: calls}})
	})
}

// DisabledAtImport are the methods that cannot be called while an import writes the
// disks (judgement: the API names none; these would harm it).
func DisabledAtImport() []string {
	return []string{
		"PowerOnVM_Task", "ReconfigVM_Task", "Destroy_Task", "CloneVM_Task", "RelocateVM_Task", "UnregisterVM",
		"CreateSnapshot_Task", "MarkAsTemplate", "Rename_Task",
	}
}
