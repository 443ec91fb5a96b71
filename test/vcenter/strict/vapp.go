// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func isTrue(b *bool) bool { return b != nil && *b }

// keepVApp stores the parts of a vApp configuration that the simulator drops: its removal, and the transport of
// properties to the guest.
func keepVApp(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) {
	if isTrue(spec.VAppConfigRemoved) {
		vm.Config.VAppConfig = nil
	}
	if spec.VAppConfig == nil || vm.Config.VAppConfig == nil {
		return
	}
	if transport := spec.VAppConfig.GetVmConfigSpec().OvfEnvironmentTransport; len(transport) != 0 {
		vm.Config.VAppConfig.GetVmConfigInfo().OvfEnvironmentTransport = slices.Clone(transport)
	}
}

// vAppSpec describes the vApp configuration of a virtual machine for its clone.
func vAppSpec(config *types.VirtualMachineConfigInfo) types.BaseVmConfigSpec {
	if config.VAppConfig == nil {
		return nil
	}
	info := config.VAppConfig.GetVmConfigInfo()
	spec := &types.VmConfigSpec{OvfEnvironmentTransport: info.OvfEnvironmentTransport}
	add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	for i := range info.Property {
		spec.Property = append(spec.Property, types.VAppPropertySpec{ArrayUpdateSpec: add, Info: &info.Property[i]})
	}
	for i := range info.Product {
		spec.Product = append(spec.Product, types.VAppProductSpec{ArrayUpdateSpec: add, Info: &info.Product[i]})
	}
	return spec
}

// overlayVApp applies the changes of a vApp configuration to a new virtual machine.
func overlayVApp(base, over types.BaseVmConfigSpec, removed bool) types.BaseVmConfigSpec {
	switch {
	case removed || base == nil:
		return over
	case over == nil:
		return base
	}
	spec, changes := *base.GetVmConfigSpec(), over.GetVmConfigSpec()
	spec.Property = slices.Clone(spec.Property)
	for _, p := range changes.Property {
		i := slices.IndexFunc(spec.Property, func(has types.VAppPropertySpec) bool { return p.Info != nil && has.Info.Key == p.Info.Key })
		switch {
		case i < 0:
			spec.Property = append(spec.Property, p)
		case p.Operation == types.ArrayUpdateOperationRemove:
			spec.Property = slices.Delete(spec.Property, i, i+1)
		default:
			spec.Property[i].Info = p.Info
		}
	}
	if len(changes.OvfEnvironmentTransport) != 0 {
		spec.OvfEnvironmentTransport = changes.OvfEnvironmentTransport
	}
	return &spec
}
