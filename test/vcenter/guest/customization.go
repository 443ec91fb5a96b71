// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// FailCustomizations makes later customizations fail with the message. If it is empty, they succeed again.
func (g *Guests) FailCustomizations(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failure = message
}

// customizing turns the simulator's customization, which is over at power-on, into one
// that runs until the guest has booted: it is done inside of the guest. The lock of the
// virtual machine is held by ctx.
func (g *Guests) customizing(ctx *simulator.Context, vm *mo.VirtualMachine) {
	info := vm.Guest.CustomizationInfo
	if info == nil || info.CustomizationStatus != string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED) {
		return
	}
	g.mu.Lock()
	if _, finished := g.customized[vm.Self]; finished {
		g.mu.Unlock()
		return // customizationEnd has already reported this end
	}
	failure := g.failure
	g.customized[vm.Self] = failure
	if failure == "" {
		if id, ok := customized(vm.Guest); ok {
			g.identities[vm.Self] = id
		}
	}
	g.mu.Unlock()
	running := *info
	running.CustomizationStatus, running.EndTime = string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING), nil
	ctx.Update(vm, []types.PropertyChange{{Name: "guest.customizationInfo", Val: running}})
}

// customizationEnd returns how the customization of a guest that has booted ended, if
// one ran.
func (g *Guests) customizationEnd(vm *mo.VirtualMachine) []types.PropertyChange {
	g.mu.Lock()
	failure, ran := g.customized[vm.Self]
	g.mu.Unlock()
	info := vm.Guest.CustomizationInfo
	if !ran || info == nil || info.CustomizationStatus != string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_RUNNING) {
		return nil
	}
	now := time.Now()
	ended := *info
	ended.CustomizationStatus, ended.ErrorMsg, ended.EndTime = string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED), failure, &now
	if failure != "" {
		ended.CustomizationStatus = string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_FAILED)
	}
	return []types.PropertyChange{{Name: "guest.customizationInfo", Val: ended}}
}
