// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Disguise is how vCenter shows a virtual machine that it cannot read in full.
type Disguise struct {
	// State is runtime.connectionState.
	State types.VirtualMachineConnectionState
	// KeepConfig shows the configuration nevertheless.
	KeepConfig bool
	// Name is shown instead of the virtual machine's; empty keeps that.
	Name string
}

// configIsUnset are the states for which the API documents "in this case, no configuration can be returned for a
// virtual machine" (VirtualMachineConnectionState).
func configIsUnset(state types.VirtualMachineConnectionState) bool {
	return state == types.VirtualMachineConnectionStateInaccessible || state == types.VirtualMachineConnectionStateInvalid
}

// DisguiseFor returns the appearance of a virtual machine in the state. Without a readable configuration its name is
// the path of its .vmx file, because the host knows no other name after a restart (observed; the API does not
// document it). Slashes in names are escaped (API, ManagedEntity.name).
func DisguiseFor(vm *simulator.VirtualMachine, state types.VirtualMachineConnectionState) (Disguise, error) {
	if state == "" {
		state = types.VirtualMachineConnectionStateInaccessible
	}
	if !slices.Contains(state.Values(), state) || state == types.VirtualMachineConnectionStateConnected {
		return Disguise{}, fmt.Errorf("state: %q: must be one of disconnected, inaccessible, invalid, orphaned", state)
	}
	d := Disguise{State: state, KeepConfig: !configIsUnset(state)}
	var p object.DatastorePath
	if !d.KeepConfig && p.FromString(vm.Config.Files.VmPathName) {
		d.Name = strings.ReplaceAll(path.Join("/vmfs/volumes", p.Datastore, p.Path), "/", "%2f")
	}
	return d, nil
}

// Hide puts the disguise on the virtual machine.
func (s *Sight) Hide(ref types.ManagedObjectReference, d Disguise) {
	s.mu.Lock()
	s.disguises[ref] = d
	s.mu.Unlock()
	s.touch(ref)
}

// Show takes the disguise off again.
func (s *Sight) Show(ref types.ManagedObjectReference) {
	s.mu.Lock()
	delete(s.disguises, ref)
	s.mu.Unlock()
	s.touch(ref)
}

// Disguise returns the disguise of the object, and whether it has one.
func (s *Sight) Disguise(ref types.ManagedObjectReference) (Disguise, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.disguises[ref]
	return d, ok
}

// Readable reports whether vCenter knows the configuration of the object.
func (s *Sight) Readable(ref types.ManagedObjectReference) bool {
	d, disguised := s.Disguise(ref)
	return !disguised || d.KeepConfig
}

// InConfig reports whether the path is the configuration or a part of it.
func InConfig(path string) bool { return path == "config" || strings.HasPrefix(path, "config.") }

// mask changes the properties of a virtual machine to those that it shows.
func (d Disguise) mask(content *types.ObjectContent) {
	shown := content.PropSet[:0]
	for _, p := range content.PropSet {
		if !d.KeepConfig && (InConfig(p.Name) || strings.HasPrefix(p.Name, "summary.config.") &&
			p.Name != "summary.config.name" && p.Name != "summary.config.vmPathName" && p.Name != "summary.config.template") {
			continue
		}
		p.Val = d.value(p.Name, p.Val)
		shown = append(shown, p)
	}
	content.PropSet = shown
}

func (d Disguise) value(name string, val types.AnyType) types.AnyType {
	switch v := val.(type) {
	case types.VirtualMachineRuntimeInfo:
		v.ConnectionState = d.State
		v.PowerState = d.power(v.PowerState)
		return v
	case types.VirtualMachineSummary:
		v.Runtime.ConnectionState = d.State
		v.Runtime.PowerState = d.power(v.Runtime.PowerState)
		v.Config = d.summary(v.Config)
		return v
	case types.VirtualMachineConfigSummary:
		return d.summary(v)
	case types.VirtualMachinePowerState:
		return d.power(v)
	case types.VirtualMachineConnectionState:
		return d.State
	case string:
		if d.Name != "" && (name == "name" || name == "summary.config.name") {
			return d.Name
		}
	}
	return val
}

// power returns the reported power state. A virtual machine that its host does not know is reported as powered off
// (judgement; the API does not specify it).
func (d Disguise) power(state types.VirtualMachinePowerState) types.VirtualMachinePowerState {
	if d.State == types.VirtualMachineConnectionStateOrphaned {
		return types.VirtualMachinePowerStatePoweredOff
	}
	return state
}

func (d Disguise) summary(config types.VirtualMachineConfigSummary) types.VirtualMachineConfigSummary {
	if !d.KeepConfig {
		config = types.VirtualMachineConfigSummary{Name: config.Name, VmPathName: config.VmPathName, Template: config.Template}
	}
	if d.Name != "" {
		config.Name = d.Name
	}
	return config
}
