// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

const (
	ownerKey       = observe.OwnerKey
	lastRestartKey = observe.LastRestartKey
	restartFormat  = time.RFC3339Nano

	// extensionKey and managedType tell vCenter which product manages the VM. No extension with the key has to be
	// registered: vSphere's clients then show their default icon (vSphere API, VirtualMachineConfigSpec.managedBy).
	extensionKey = "dev.slipway"
	managedType  = "VirtualMachine"
	// diskUUIDKey exposes disk UUIDs to the guest. Storage drivers use them to find their disks.
	diskUUIDKey = "disk.enableUUID"
)

// compareIdentity compares the VM's name and the keys that identify its object.
func compareIdentity(in *input) []Difference {
	var out []Difference
	if in.Name != "" && !in.adopted {
		out = append(out, Difference{Path: "metadata.name", Running: in.vm.Name, Desired: in.Name, Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.Name = in.Name }})
	}
	if in.Identity.InstanceUUID != "" {
		out = append(out, Difference{Path: "instanceUUID", Running: lower(in.config.InstanceUuid), Desired: lower(in.Identity.InstanceUUID), Live: true,
			set: func(s *types.VirtualMachineConfigSpec) { s.InstanceUuid = lower(in.Identity.InstanceUUID) }})
	}
	out = append(out, compareOption(in, "metadata.uid", ownerKey, in.Owner().String(), true, false))
	if in.adopted {
		out = append(out, compareOption(in, "metadata.uid", observe.AdoptedKey, in.Owner().UID, true, false))
	}
	if !in.Restarted.IsZero() {
		out = append(out, compareOption(in, "nextRestartTime", lastRestartKey, in.Restarted.UTC().Format(restartFormat), true, true))
	}
	return out
}

// initialSettings returns settings for the creation of a VM. Administrators may change them afterwards.
func initialSettings(in *input) []Difference {
	if in.exists() {
		return nil
	}
	note := fmt.Sprintf("Managed by Slipway as VirtualMachine %s. Change that object instead: changes made here may be reverted.", in.Owner().Key)
	return []Difference{
		compareOption(in, "metadata.name", diskUUIDKey, "TRUE", false, false),
		{Path: "metadata.name", Desired: note, set: func(s *types.VirtualMachineConfigSpec) {
			s.Annotation = note
			s.ManagedBy = &types.ManagedByInfo{ExtensionKey: extensionKey, Type: managedType}
		}},
	}
}

// compareMark sets the mark of an incomplete VM, or removes it when the VM is complete.
func compareMark(in *input) Difference {
	switch {
	case in.vm.Config == nil && in.Attempt != "":
		return compareOption(in, "bootstrap", observe.PendingKey, in.Attempt, false, true)
	case in.Bootstrapped:
		return compareOption(in, "bootstrap", observe.PendingKey, "", false, true)
	}
	return Difference{}
}

// StoreRecord returns the difference that stores a record in vm. The text and the head are written together, so
// that they always belong to the same record.
func StoreRecord(vm *mo.VirtualMachine, r driver.Record) Difference {
	head := r.Head.String()
	return Difference{
		Path: "metadata.record", Running: observe.ExtraConfig(vm, observe.RecordHeadKey), Desired: head, Live: true,
		set: func(s *types.VirtualMachineConfigSpec) {
			option(observe.RecordHeadKey, head)(s)
			option(observe.RecordKey, r.Text)(s)
		},
	}
}

// GuestSettingsSchema is the record schema that added observe.GuestSettingsKey.
const GuestSettingsSchema = 2

// MissingRecords returns the data that record schemas newer than since have added and that vm does not have. The data is
// added once.
//
//   - Schema 1 added the adapter record. Earlier versions wrote it only with another change of the VM.
//   - GuestSettingsSchema added the settings that the guest received. For an existing VM, the settings
//     in the spec are recorded, because the original settings are not known.
func MissingRecords(want Desired, vm *mo.VirtualMachine, since int) []Difference {
	if want.Effective == nil || vm.Config == nil {
		return nil
	}
	in := newInput(want, vm)
	var out []Difference
	if since < 1 && in.extra(observe.AdaptersKey) == "" {
		out = append(out, recordAdapters(in))
	}
	if since < GuestSettingsSchema && in.extra(observe.GuestSettingsKey) == "" {
		out = append(out, compareOption(in, "metadata.guest", observe.GuestSettingsKey, passedSettings(in).text(), true, true))
	}
	return dropUnchanged(out)
}

// RecordRestart returns a reconfiguration that records the time of a requested restart.
func RecordRestart(t time.Time) types.VirtualMachineConfigSpec {
	return RecordRestartAs(t.UTC().Format(restartFormat))
}

// RecordRestartAs returns a reconfiguration that records a value that was read from a VM.
func RecordRestartAs(value string) types.VirtualMachineConfigSpec {
	return types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: lastRestartKey, Value: value}}}
}
