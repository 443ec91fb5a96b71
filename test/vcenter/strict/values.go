// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Limits of vSphere 8.0 Update 3 (VMware Configuration Maximums).
const (
	maxName     = 80
	maxCPUs     = 768
	maxMemoryMB = 24 * 1024 * 1024
	minVersion  = 4
	maxVersion  = 21
)

// checkName rejects names that vSphere does not accept.
func checkName(name string) types.BaseMethodFault {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, `/\%`) {
		return &types.InvalidName{Name: name}
	}
	return nil
}

// checkValues refuses values of a configuration that are invalid in every state of a virtual machine. It converts
// UUIDs to lower case, because the search index is case-sensitive. The path of a property begins with configSpec: the
// API documents it for InvalidVmConfig, and vCenter returns configSpec.guestId (hashicorp/packer, issue 9153). For
// the others it is judgement.
func checkValues(spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	invalid := func(property string) types.BaseMethodFault {
		return &types.InvalidArgument{InvalidProperty: "configSpec." + property}
	}
	switch {
	case spec.NumCPUs < 0 || spec.NumCPUs > maxCPUs:
		return invalid("numCPUs")
	case spec.MemoryMB < 0 || spec.MemoryMB > maxMemoryMB || spec.MemoryMB%4 != 0:
		return invalid("memoryMB")
	case spec.NumCoresPerSocket != nil && *spec.NumCoresPerSocket < 0:
		return invalid("numCoresPerSocket")
	case spec.GuestId != "" && !slices.Contains(simulator.GuestID, types.VirtualMachineGuestOsIdentifier(spec.GuestId)):
		return invalid("guestId")
	case spec.Version != "" && !validVersion(spec.Version):
		return invalid("version")
	case spec.Firmware != "" && spec.Firmware != string(types.GuestOsDescriptorFirmwareTypeBios) &&
		spec.Firmware != string(types.GuestOsDescriptorFirmwareTypeEfi):
		return invalid("firmware")
	}
	for property, id := range map[string]*string{"uuid": &spec.Uuid, "instanceUuid": &spec.InstanceUuid} {
		if *id == "" {
			continue
		}
		parsed, err := uuid.Parse(*id)
		if err != nil {
			return invalid(property)
		}
		*id = parsed.String()
	}
	for _, o := range spec.ExtraConfig {
		// These keys are commands to the simulator, which end it when misused.
		if key := o.GetOptionValue().Key; key == "" || strings.HasPrefix(key, "SET.") || strings.HasPrefix(key, "RUN.") {
			return invalid("extraConfig")
		}
	}
	return nil
}

func validVersion(version string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(version, "vmx-"))
	return err == nil && strings.HasPrefix(version, "vmx-") && n >= minVersion && n <= maxVersion
}

// checkTopology refuses CPUs that do not fill their sockets, and secure boot
// without EFI. The values in effect are passed in.
func checkTopology(cpus int32, cores *int32, firmware string, boot *types.VirtualMachineBootOptions) types.BaseMethodFault {
	if cores != nil && *cores > 0 && cpus%*cores != 0 {
		return &types.InvalidArgument{InvalidProperty: "configSpec.numCoresPerSocket"}
	}
	if boot != nil && boot.EfiSecureBootEnabled != nil && *boot.EfiSecureBootEnabled &&
		firmware != string(types.GuestOsDescriptorFirmwareTypeEfi) {
		return &types.InvalidVmConfig{Property: "configSpec.bootOptions.efiSecureBootEnabled"}
	}
	return nil
}

// checkPowered refuses changes that a powered-on virtual machine does not support.
func checkPowered(config *types.VirtualMachineConfigInfo, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	on := func(flag *bool) bool { return flag != nil && *flag }
	cpus, memory := config.Hardware.NumCPU, int64(config.Hardware.MemoryMB)
	switch {
	case spec.NumCPUs > cpus && !on(config.CpuHotAddEnabled):
		return &types.CpuHotPlugNotSupported{}
	case spec.NumCPUs != 0 && spec.NumCPUs < cpus && !on(config.CpuHotRemoveEnabled):
		return &types.CpuHotPlugNotSupported{}
	case spec.MemoryMB > memory && !on(config.MemoryHotAddEnabled):
		return &types.MemoryHotPlugNotSupported{}
	case spec.MemoryMB != 0 && spec.MemoryMB < memory:
		return &types.MemoryHotPlugNotSupported{}
	}
	cold := spec.Firmware != "" && spec.Firmware != config.Firmware ||
		spec.Version != "" && spec.Version != config.Version ||
		spec.Uuid != "" && spec.Uuid != strings.ToLower(config.Uuid) ||
		changed(spec.CpuHotAddEnabled, config.CpuHotAddEnabled) ||
		changed(spec.CpuHotRemoveEnabled, config.CpuHotRemoveEnabled) ||
		changed(spec.MemoryHotAddEnabled, config.MemoryHotAddEnabled)
	if cores := spec.NumCoresPerSocket; cores != nil && (*cores != 0 || !isAuto(config)) && config.Hardware.NumCoresPerSocket != nil &&
		*cores != *config.Hardware.NumCoresPerSocket {
		cold = true
	}
	if cold {
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOff,
			ExistingState:  types.VirtualMachinePowerStatePoweredOn,
		}
	}
	return nil
}

func changed(want, have *bool) bool {
	return want != nil && *want != (have != nil && *have)
}
