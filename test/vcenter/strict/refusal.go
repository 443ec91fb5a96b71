// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// refusal is a call that the state of its target does not allow.
type refusal struct {
	target types.ManagedObjectReference
	call   string
	fault  types.BaseMethodFault
}

// refuse makes the gate answer the call with the fault.
func refuse(method *simulator.Method, fault types.BaseMethodFault) {
	method.Body = &refusal{target: method.This, call: method.Name, fault: fault}
	method.This, method.Name = gateRef, "Refuse"
}

// Refuse answers as vCenter does: a refused operation is in the list of recent tasks and failed immediately. Only a
// call without a task returns the fault itself (judgement from the vSphere Client; the API allows both).
func (g *Gate) Refuse(ctx *simulator.Context, r *refusal) soap.HasFault {
	if started := taskAnswers[r.call]; started != nil {
		return started(failing(ctx, r.target, r.call, r.fault))
	}
	return &methods.UnregisterVMBody{Fault_: simulator.Fault("", r.fault)}
}

// taskAnswers make the answer to a call from the task that it has started.
var taskAnswers = map[string]func(types.ManagedObjectReference) soap.HasFault{
	"PowerOnVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: ref}}
	},
	"PowerOffVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: ref}}
	},
	"SuspendVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.SuspendVM_TaskBody{Res: &types.SuspendVM_TaskResponse{Returnval: ref}}
	},
	"ResetVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.ResetVM_TaskBody{Res: &types.ResetVM_TaskResponse{Returnval: ref}}
	},
	"ReconfigVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: ref}}
	},
	"UpgradeVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.UpgradeVM_TaskBody{Res: &types.UpgradeVM_TaskResponse{Returnval: ref}}
	},
	"Destroy_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: ref}}
	},
	"CloneVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: ref}}
	},
	"RelocateVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: ref}}
	},
	"Rename_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.Rename_TaskBody{Res: &types.Rename_TaskResponse{Returnval: ref}}
	},
	"CustomizeVM_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.CustomizeVM_TaskBody{Res: &types.CustomizeVM_TaskResponse{Returnval: ref}}
	},
	"PromoteDisks_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.PromoteDisks_TaskBody{Res: &types.PromoteDisks_TaskResponse{Returnval: ref}}
	},
	"AttachDisk_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.AttachDisk_TaskBody{Res: &types.AttachDisk_TaskResponse{Returnval: ref}}
	},
	"DetachDisk_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.DetachDisk_TaskBody{Res: &types.DetachDisk_TaskResponse{Returnval: ref}}
	},
	"CreateSnapshot_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.CreateSnapshot_TaskBody{Res: &types.CreateSnapshot_TaskResponse{Returnval: ref}}
	},
	"CreateSnapshotEx_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.CreateSnapshotEx_TaskBody{Res: &types.CreateSnapshotEx_TaskResponse{Returnval: ref}}
	},
	"RevertToCurrentSnapshot_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.RevertToCurrentSnapshot_TaskBody{Res: &types.RevertToCurrentSnapshot_TaskResponse{Returnval: ref}}
	},
	"RemoveAllSnapshots_Task": func(ref types.ManagedObjectReference) soap.HasFault {
		return &methods.RemoveAllSnapshots_TaskBody{Res: &types.RemoveAllSnapshots_TaskResponse{Returnval: ref}}
	},
}

// stateless are calls that do not depend on the state of the virtual machine, because they only use vCenter's own
// data.
var stateless = map[string]bool{
	"UnregisterVM": true, "SetCustomValue": true, "setCustomValue": true, "RefreshStorageInfo": true, "AnswerVM": true,
}

// operates reports whether the call works on the virtual machine itself.
func operates(method *simulator.Method) bool {
	if method.This.Type != "VirtualMachine" || stateless[method.Name] {
		return false
	}
	return !strings.HasPrefix(method.Name, "Query") && !strings.HasPrefix(method.Name, "Fetch")
}

// operable refuses operations on a virtual machine that vCenter cannot reach, that
// waits for an answer, or that is busy.
//
// "An InvalidState fault is thrown if the operation failed due to the current state of
// the system"; with its host away it is "the host has an invalid connection state" (API,
// InvalidState and InvalidHostConnectionState).
func (g *Gate) operable(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if !operates(method) {
		return nil
	}
	if d, disguised := g.sight.Disguise(method.This); disguised {
		if d.State == types.VirtualMachineConnectionStateDisconnected {
			return &types.InvalidHostConnectionState{}
		}
		return &types.InvalidState{}
	}
	if fault := checkLocks(ctx, method); fault != nil {
		return fault
	}
	if fault := checkMemory(ctx, method); fault != nil {
		return fault
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.asked[method.This]; q != nil {
		return &types.QuestionPending{Text: q.info.Text}
	}
	// A console can be watched during operations on the virtual machine (judgement).
	if task, busy := g.running[method.This]; busy && method.Name != "CloneVM_Task" && method.Name != "AcquireTicket" {
		return &types.TaskInProgress{Task: task}
	}
	return nil
}

// enabled refuses a method that is disabled.
func enabled(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	var disabled bool
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(vm, func() { disabled = slices.Contains(vm.DisabledMethod, method.Name) })
	if disabled {
		return &types.MethodDisabled{}
	}
	return nil
}
