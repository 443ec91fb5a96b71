// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// restartNow is the value of spec.nextRestartTime that means the time of the request.
const restartNow = "now"

// fillAtCreation sets permanent fields of a new virtual machine, so that no controller has to write them later. The
// UID must be set.
func fillAtCreation(created *vmv1alpha1.VirtualMachine, now func() time.Time) {
	fillFinalizer(created)
	if created.Spec.Firmware == nil || created.Spec.Firmware.UUID == "" {
		setFirmwareUUID(&created.Spec, apply.FirmwareUUID(created.UID))
	}
	// A preference may disable the default interface.
	if created.Spec.Preference == nil {
		fillInterface(&created.Spec)
	}
	fillProviderID(created)
	fillRestartTime(&created.Spec, now)
}

// fillAtUpdate restores permanent fields if a client replaces the object by a manifest without them. While the
// virtual machine is being deleted, the finalizer is not restored: a client that removes it then does so on purpose,
// and admission checks its permission.
func fillAtUpdate(updated, stored *vmv1alpha1.VirtualMachine, now func() time.Time) {
	if stored.DeletionTimestamp == nil && slices.Contains(stored.Finalizers, vmv1alpha1.VirtualMachineFinalizer) {
		fillFinalizer(updated)
	}
	known := stored.Spec.Firmware != nil && stored.Spec.Firmware.UUID != ""
	if known && (updated.Spec.Firmware == nil || updated.Spec.Firmware.UUID == "") {
		setFirmwareUUID(&updated.Spec, stored.Spec.Firmware.UUID)
	}
	switch {
	case stored.Spec.Network == nil:
	case len(stored.Spec.Network.Interfaces) > 0, updated.Spec.Preference == nil:
		fillInterface(&updated.Spec)
	}
	keepProviderID(updated, stored)
	fillRestartTime(&updated.Spec, now)
}

func fillFinalizer(v *vmv1alpha1.VirtualMachine) {
	if !slices.Contains(v.Finalizers, vmv1alpha1.VirtualMachineFinalizer) {
		v.Finalizers = append(v.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
	}
}

func setFirmwareUUID(spec *vmv1alpha1.VirtualMachineSpec, uuid string) {
	if spec.Firmware == nil {
		spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
	}
	spec.Firmware.UUID = uuid
}

// fillProviderID sets the provider ID, by which Kubernetes identifies the node, if the provider ID is known.
func fillProviderID(v *vmv1alpha1.VirtualMachine) {
	if v.Spec.ProviderID == "" {
		v.Spec.ProviderID = v.OwnProviderID()
	}
}

// keepProviderID preserves the provider ID. If a virtual machine has none, because an earlier version created it
// or it adopts a VM, the next update sets it.
func keepProviderID(updated, stored *vmv1alpha1.VirtualMachine) {
	if updated.Spec.ProviderID == "" {
		updated.Spec.ProviderID = cmp.Or(stored.Spec.ProviderID, stored.OwnProviderID())
	}
}

func fillInterface(spec *vmv1alpha1.VirtualMachineSpec) {
	if spec.Network == nil {
		spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	if !spec.Network.Disabled && len(spec.Network.Interfaces) == 0 {
		spec.Network.Interfaces = []vmv1alpha1.VirtualMachineNetworkInterface{apply.DefaultInterface()}
	}
}

// fillRestartTime replaces "now" by the time of the request. It is truncated to seconds, because it is compared with
// status.lastRestartTime.
func fillRestartTime(spec *vmv1alpha1.VirtualMachineSpec, now func() time.Time) {
	if strings.EqualFold(spec.NextRestartTime, restartNow) {
		spec.NextRestartTime = now().UTC().Format(time.RFC3339)
	}
}
