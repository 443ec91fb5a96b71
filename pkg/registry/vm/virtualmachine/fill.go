// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"slices"
	"strings"
	"time"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// Finalizer keeps the object until its vSphere VM is gone. It equals
	// v1alpha1.VirtualMachineFinalizer, which clients know it by.
	Finalizer = "vm.slipway.dev/virtualmachine"
	// defaultInterface names the interface of a VM that lists none.
	defaultInterface = "eth0"
	// restartNow in spec.nextRestartTime stands for the time of the request.
	restartNow = "now"
)

// fillAtCreation sets what a VM keeps for life, so that no controller has to write
// it later.
func fillAtCreation(created *vm.VirtualMachine, sources Sources) {
	if !slices.Contains(created.Finalizers, Finalizer) {
		created.Finalizers = append(created.Finalizers, Finalizer)
	}
	if created.Spec.Firmware == nil || created.Spec.Firmware.UUID == "" {
		setFirmwareUUID(&created.Spec, sources.NewUUID())
	}
	// A preference may say that there is no default interface.
	if created.Spec.Preference == nil {
		fillInterface(&created.Spec)
	}
	fillRestartTime(&created.Spec, sources.Now)
}

// fillAtUpdate keeps what the creation filled when a client, which replaces the object
// by its own manifest, knows nothing of it.
func fillAtUpdate(updated, stored *vm.VirtualMachine, sources Sources) {
	known := stored.Spec.Firmware != nil && stored.Spec.Firmware.UUID != ""
	if known && (updated.Spec.Firmware == nil || updated.Spec.Firmware.UUID == "") {
		setFirmwareUUID(&updated.Spec, stored.Spec.Firmware.UUID)
	}
	switch {
	case stored.Spec.Network == nil:
	case len(stored.Spec.Network.Interfaces) > 0, updated.Spec.Preference == nil:
		fillInterface(&updated.Spec)
	}
	fillRestartTime(&updated.Spec, sources.Now)
}

func setFirmwareUUID(spec *vm.VirtualMachineSpec, uuid string) {
	if spec.Firmware == nil {
		spec.Firmware = &vm.VirtualMachineFirmware{}
	}
	spec.Firmware.UUID = uuid
}

func fillInterface(spec *vm.VirtualMachineSpec) {
	if spec.Network == nil {
		spec.Network = &vm.VirtualMachineNetworkSpec{}
	}
	if !spec.Network.Disabled && len(spec.Network.Interfaces) == 0 {
		spec.Network.Interfaces = []vm.VirtualMachineNetworkInterface{{Name: defaultInterface}}
	}
}

// fillRestartTime replaces the word now by the time of the request, in whole
// seconds like status.lastRestartTime, which it is compared with.
func fillRestartTime(spec *vm.VirtualMachineSpec, now func() time.Time) {
	if strings.EqualFold(spec.NextRestartTime, restartNow) {
		spec.NextRestartTime = now().UTC().Format(time.RFC3339)
	}
}
