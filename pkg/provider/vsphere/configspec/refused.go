// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Refused lists settings of the desired configuration that are impossible, each with the path of its field and the
// reason. Differences does not contain them. A VM with such a setting is not created, and is not powered on if it
// has never been powered on. An empty vm represents a VM that does not exist yet.
func Refused(want Desired, vm *mo.VirtualMachine) driver.Refusals {
	if want.Effective == nil {
		return driver.Refusals{}
	}
	in := newInput(want, vm)
	e := want.Effective
	var out []string
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	refuseBootDisk(in, reportf)
	volumes := refuseVolumes(in, reportf)
	refusePolicies(in, reportf)
	refuseProviderID(in, reportf)
	refuseBootstrap(in, reportf)
	refuseAddresses(e, reportf)
	refusePassthrough(in, reportf)
	if tpmWithoutEFI(in) && !want.TPMPreferred {
		reportf("devices.tpm: requires EFI, but firmware.bootloader is BIOS%s", imageNote(e.Firmware))
	}
	for _, f := range needNewerVersion(in) {
		if f.Path != hardware.TPM || !want.TPMPreferred {
			reportf("%s: requires virtual hardware version %d: set minHardwareVersion", f.Path, f.MinVersion)
		}
	}
	if cpu := e.CPU; cpu != nil && isTrue(cpu.ExposeVNUMA) && isTrue(cpu.HotAddEnabled) {
		reportf("cpu.exposeVNUMA: cannot be combined with cpu.hotAddEnabled, because vSphere disables vNUMA when CPU hot-add is enabled")
	}
	slices.Sort(out)
	return driver.Refusals{Invalid: out, Volumes: volumes}
}

// needNewerVersion returns the fields of the spec that require a newer virtual hardware version than an existing VM
// has or will get. The VM keeps its current values of these fields.
func needNewerVersion(in *input) []*hardware.Field {
	var out []*hardware.Field
	have := observe.HardwareVersion(in.config.Version)
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		if have > 0 && max(have, in.Effective.MinHardwareVersion) < f.MinVersion && f.IsSet(hardware.StateOf(in.Effective)) {
			out = append(out, f)
		}
	}
	return out
}

// tpmWithoutEFI reports whether the spec has a TPM and the VM has BIOS. It returns false if the firmware is not
// known yet: the VM does not exist and the spec does not set the firmware.
func tpmWithoutEFI(in *input) bool {
	e := in.Effective
	known := in.vm.Config != nil || e.Firmware != nil && e.Firmware.Bootloader != ""
	return e.Devices != nil && wantsTPM(e.Devices.TPM) && known && !hasEFI(in)
}

func imageNote(fw *vmv1alpha1.VirtualMachineFirmware) string {
	if fw == nil || fw.Bootloader == "" {
		return " (from the image)"
	}
	return ""
}

// Deviations lists fields whose value on the VM differs from the effective spec and cannot be changed by a
// reconfiguration. Each entry has the reason or the action.
func Deviations(want Desired, vm *mo.VirtualMachine) []string {
	if want.Effective == nil || vm.Config == nil {
		return nil
	}
	in := newInput(want, vm)
	var out []string
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	deviatingProviderID(in, reportf)
	deviatingAdapters(in, reportf)
	deviatingBootDisk(in, reportf)
	deviatingVolumes(in, reportf)
	deviatingBootOrder(in, reportf)
	return out
}

// NotApplied lists settings of the effective spec that vSphere does not support or that are optional, each with the
// reason.
func NotApplied(want Desired, vm *mo.VirtualMachine) []string {
	if want.Effective == nil {
		return nil
	}
	in := newInput(want, vm)
	e := want.Effective
	var out []string
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	reportUnappliedAdopted(in, reportf)
	reportUnappliedClasses(in, reportf)
	if len(e.NodeSelector) > 0 {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(e.NodeSelector)) {
			labels = append(labels, k+"="+e.NodeSelector[k])
		}
		reportf("nodeSelector %s (vSphere chooses the host)", conditions.JoinLimited(labels, ","))
	}
	if cpu := e.CPU; cpu != nil {
		if cpu.Model != "" {
			reportf("cpu.model %s (EVC determines the CPU model)", cpu.Model)
		}
		if hardware.HasDedicatedCores(cpu) && cpu.Reservation == nil && want.HostMHz == 0 {
			reportf("cpu.dedicatedCPUPlacement (no CPU is reserved, because the host's clock rate is not known)")
		}
	}
	if mem := e.Memory; mem != nil && mem.HugePageSize != "" && mem.HugePageSize != "1Gi" && mem.HugePageSize != "2Mi" {
		reportf("memory.hugePageSize %s (vSphere supports 1Gi, and 2Mi, which it always uses)", mem.HugePageSize)
	}
	if d := e.Devices; d != nil && d.Video != nil && d.Video.Type != "" && d.Video.Type != "svga" {
		reportf("devices.video.type %s (vSphere supports only svga)", d.Video.Type)
	}
	if tpmWithoutEFI(in) && want.TPMPreferred {
		reportf("devices.tpm (preferred, but it requires EFI, and the firmware is BIOS)")
	}
	for _, f := range needNewerVersion(in) {
		if f.Path == hardware.TPM && want.TPMPreferred {
			reportf("%s (preferred, but it requires virtual hardware version %d)", f.Path, f.MinVersion)
		}
	}
	reportUnappliedSizes(in, reportf)
	reportUnappliedISOs(in, reportf)
	return out
}
