// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// SetCaptureTime sets the duration of captures.
func (g *Gate) SetCaptureTime(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.captureTime = d
}

// Capture runs do on the configuration of a powered-off virtual machine, as a task. Clients find the task by its
// activation ID and can cancel it, and it continues if they do not wait. The virtual machine accepts no other
// operation during the task (judgement: its disks are read). It requires the privilege VApp.Export on the virtual
// machine (vSphere Automation API, Vcenter Ovf LibraryItem create).
func (g *Gate) Capture(ctx context.Context, registry *simulator.Registry, ref types.ManagedObjectReference, activation string,
	do func(*types.VirtualMachineConfigInfo) error,
) error {
	vm, ok := registry.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return Failed("capture "+ref.Value, &types.ManagedObjectNotFound{Obj: ref})
	}
	if fault := g.lacking(g.Importer, []need{{ref, "VApp.Export"}}); fault != nil {
		return Failed("capture "+ref.Value, fault)
	}
	sim := Acting(registry)
	var source *mo.VirtualMachine
	sim.WithLock(vm, func() { source, _ = simulator.Checkpoint(vm).(*mo.VirtualMachine) })
	switch {
	case source == nil || source.Config == nil:
		return Failed("capture "+ref.Value, &types.ManagedObjectNotFound{Obj: ref})
	case source.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff:
		return Failed("capture "+ref.Value, &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: source.Runtime.PowerState})
	case len(source.DisabledMethod) > 0 && slices.Contains(source.DisabledMethod, "Destroy_Task"):
		return Failed("capture "+ref.Value, &types.TaskInProgress{})
	}
	g.mu.Lock()
	d, ended := g.captureTime, g.ended
	g.mu.Unlock()
	g.Disable(sim, vm, DisabledAtImport()...)
	lock := types.ManagedObjectReference{Type: "SlipwayOperation", Value: ref.Value + "/capture"}
	left := make(chan struct{}) // a task that is cancelled has ended before it is left
	task := simulator.CreateTask(lock, "captureOvf", func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		defer close(left)
		defer g.Disable(Acting(registry), vm)
		sim.Map.AtomicUpdate(sim, task, []types.PropertyChange{{Name: "info.entity", Val: ref}, {Name: "info.entityName", Val: source.Name}})
		cancelled := make(chan struct{})
		g.onEnd(sim, task.Self, func(types.TaskInfo) { close(cancelled) })
		w := wait{cancelled: cancelled, ended: ended}
		pause := time.NewTimer(d)
		defer pause.Stop()
		if !w.until(pause.C) {
			return nil, w.fault()
		}
		if err := do(source.Config); err != nil {
			return nil, &types.SystemError{Reason: err.Error()}
		}
		return nil, nil
	})
	task.Info.Name, task.Info.DescriptionId, task.Info.ActivationId = "CaptureOvf", "com.vmware.ovfs.LibraryItem.capture", activation
	done := make(chan types.BaseMethodFault, 1)
	go func() {
		_, fault := g.result(Acting(registry), task.Run(Acting(registry)))
		<-left
		done <- fault
	}()
	select {
	case fault := <-done:
		if failed, ok := fault.(*types.SystemError); ok {
			return fmt.Errorf("capture %s: %s", ref.Value, failed.Reason)
		}
		return Failed(fmt.Sprintf("capture %s", ref.Value), fault)
	case <-ctx.Done():
		return ctx.Err()
	}
}
