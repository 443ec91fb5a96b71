// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// Unregister removes a virtual machine from the inventory in any power state, and returns the path of its .vmx file.
func (e *Events) Unregister(id string) (string, error) {
	vm, err := e.vm(id)
	if err != nil {
		return "", err
	}
	path, fault := e.gate.Unregister(strict.Acting(e.registry), vm)
	return path, strict.Failed("unregister "+id, fault)
}

// Register adds a virtual machine again, to its previous folder or to the one with the given path. It returns the new
// managed object ID.
func (e *Events) Register(path, folder string) (string, error) {
	at := strict.Placement{}
	if folder != "" {
		f, err := e.folder(folder)
		if err != nil {
			return "", err
		}
		at.Folder = &f.Self
	}
	ref, fault := e.gate.PutBack(strict.Acting(e.registry), path, at)
	return ref.Value, strict.Failed(fmt.Sprintf("register %q", path), fault)
}

// Move moves a virtual machine into the folder with the path, and returns the managed object ID of the previous folder.
func (e *Events) Move(id, folder string) (string, error) {
	vm, err := e.vm(id)
	if err != nil {
		return "", err
	}
	to, err := e.folder(folder)
	if err != nil {
		return "", err
	}
	return e.moveTo(vm, to)
}

func (e *Events) moveTo(vm *simulator.VirtualMachine, to *simulator.Folder) (string, error) {
	from := vm.Parent.Value
	ctx := strict.Acting(e.registry)
	body, ok := e.gate.MoveIntoFolderTask(ctx, &types.MoveIntoFolder_Task{
		This: to.Self, List: []types.ManagedObjectReference{vm.Self},
	}).(*methods.MoveIntoFolder_TaskBody)
	if !ok || body.Res == nil {
		return "", fmt.Errorf("move %s: the task did not start", vm.Self.Value)
	}
	_, fault := e.gate.Wait(ctx, body.Res.Returnval)
	return from, strict.Failed(fmt.Sprintf("move %s to %s", vm.Self.Value, to.Name), fault)
}

// SetInstanceUUID changes the instance UUID of a virtual machine, as an administrator or vCenter may. If it is empty, a
// new one is generated: "clients can specify that vCenter Server reassign a new identifier" (API,
// VirtualMachineConfigSpec.instanceUuid). It returns the previous one.
func (e *Events) SetInstanceUUID(id, instanceUUID string) (string, error) {
	vm, err := e.vm(id)
	if err != nil {
		return "", err
	}
	if instanceUUID == "" {
		instanceUUID = uuid.NewString()
	}
	old := vm.Config.InstanceUuid
	ctx := strict.Acting(e.registry)
	body, ok := e.gate.ReconfigVMTask(ctx, &types.ReconfigVM_Task{
		This: vm.Self, Spec: types.VirtualMachineConfigSpec{InstanceUuid: instanceUUID},
	}).(*methods.ReconfigVM_TaskBody)
	if !ok || body.Res == nil {
		return "", fmt.Errorf("change the instance UUID of %s: the task did not start", id)
	}
	_, fault := e.gate.Wait(ctx, body.Res.Returnval)
	return old, strict.Failed("change the instance UUID of "+id, fault)
}

// Renumber assigns another managed object ID and another instance UUID to a virtual machine, as a restore of vCenter
// or registering a copy of its files does. vCenter's tasks do not link the previous ID to the new one, and the VM
// with the previous ID never has the new UUID. It returns the new ID.
func (e *Events) Renumber(id string) (string, error) {
	vm, err := e.vm(id)
	if err != nil {
		return "", err
	}
	ctx := strict.Acting(e.registry)
	path, fault := e.gate.TakeOut(ctx, vm)
	if fault != nil {
		return "", strict.Failed("renumber "+id, fault)
	}
	ref, fault := e.gate.PutBack(ctx, path, strict.Placement{OtherUUID: true})
	return ref.Value, strict.Failed("renumber "+id, fault)
}
