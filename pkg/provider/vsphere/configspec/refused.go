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

// Refused lists what the desired configuration requests and cannot have, each with the path of
// its field and the reason; Differences has none of it. A VM that requests such is not created,
// and one that has never run is not powered on. An empty vm stands for one that is not created
// yet.
func Refused(want Want, vm *mo.VirtualMachine) driver.Refusals {
	if want.Effective == nil {
		return driver.Refusals{}
	}
	in := newInput(want, vm)
	e := want.Effective
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	refusedBootDisk(in, say)
	volumes := refusedVolumes(in, say)
	refusedPolicies(in, say)
	refusedProviderID(in, say)
	refusedBootstrap(in, say)
	refusedAddresses(e, say)
	refusedPassthrough(in, say)
	if tpmWithoutEFI(in) && !want.TPMPreferred {
		say("devices.tpm: needs EFI, and firmware.bootloader is BIOS%s", fromImage(e.Firmware))
	}
	for _, f := range needNewerVersion(in) {
		if f.Path != hardware.TPM || !want.TPMPreferred {
			say("%s: needs virtual hardware version %d: set minHardwareVersion", f.Path, f.MinVersion)
		}
	}
	if cpu := e.CPU; cpu != nil && isTrue(cpu.ExposeVNUMA) && isTrue(cpu.HotAddEnabled) {
		say("cpu.exposeVNUMA: excludes cpu.hotAddEnabled, with which vSphere shows the guest no vNUMA")
	}
	slices.Sort(out)
	return driver.Refusals{Invalid: out, Volumes: volumes}
}

// needNewerVersion returns the fields that the spec sets and that need a newer virtual hardware version than an
// existing VM has or gets. The VM keeps their values.
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

// tpmWithoutEFI is true when the VM shall have a TPM and has BIOS. Before it
// exists and while the spec leaves the firmware to the image, nobody knows.
func tpmWithoutEFI(in *input) bool {
	e := in.Effective
	known := in.vm.Config != nil || e.Firmware != nil && e.Firmware.Bootloader != ""
	return e.Devices != nil && wantsTPM(e.Devices.TPM) && known && !hasEFI(in)
}

func fromImage(fw *vmv1alpha1.VirtualMachineFirmware) string {
	if fw == nil || fw.Bootloader == "" {
		return ", as in the image"
	}
	return ""
}

// Deviating lists what the effective spec requests and the VM has otherwise, where no reconfiguration changes it. Each
// entry has the reason or the action.
func Deviating(want Want, vm *mo.VirtualMachine) []string {
	if want.Effective == nil || vm.Config == nil {
		return nil
	}
	in := newInput(want, vm)
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	deviatingProviderID(in, say)
	deviatingAdapters(in, say)
	deviatingBootDisk(in, say)
	deviatingVolumes(in, say)
	deviatingBootOrder(in, say)
	return out
}

// NotApplied lists what the effective spec requests and vSphere does not have or the VM can do without, each with the
// reason.
func NotApplied(want Want, vm *mo.VirtualMachine) []string {
	if want.Effective == nil {
		return nil
	}
	in := newInput(want, vm)
	e := want.Effective
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	unappliedAdopted(in, say)
	unappliedClasses(in, say)
	if len(e.NodeSelector) > 0 {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(e.NodeSelector)) {
			labels = append(labels, k+"="+e.NodeSelector[k])
		}
		say("nodeSelector %s (vSphere chooses the host)", conditions.List(labels, ","))
	}
	if cpu := e.CPU; cpu != nil {
		if cpu.Model != "" {
			say("cpu.model %s (EVC decides)", cpu.Model)
		}
		if hardware.OwnCores(cpu) && cpu.Reservation == nil && want.HostMHz == 0 {
			say("cpu.dedicatedCPUPlacement (the speed of the host is not known, so that no CPU is reserved)")
		}
	}
	if mem := e.Memory; mem != nil && mem.HugePageSize != "" && mem.HugePageSize != "1Gi" && mem.HugePageSize != "2Mi" {
		say("memory.hugePageSize %s (vSphere has 2Mi, which it always uses, and 1Gi)", mem.HugePageSize)
	}
	if d := e.Devices; d != nil && d.Video != nil && d.Video.Type != "" && d.Video.Type != "svga" {
		say("devices.video.type %s (vSphere has one video card, svga)", d.Video.Type)
	}
	if tpmWithoutEFI(in) && want.TPMPreferred {
		say("devices.tpm (preferred, but it needs EFI, and the firmware is BIOS)")
	}
	for _, f := range needNewerVersion(in) {
		if f.Path == hardware.TPM && want.TPMPreferred {
			say("%s (preferred, but it needs virtual hardware version %d)", f.Path, f.MinVersion)
		}
	}
	unappliedSizes(in, say)
	unappliedDiscs(in, say)
	return out
}
