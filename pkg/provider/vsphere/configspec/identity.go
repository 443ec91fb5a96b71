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

	// extensionKey and managedType say in vCenter who manages a VM. No extension of
	// that key has to be registered: its clients show their default icon then (vSphere
	// API, VirtualMachineConfigSpec.managedBy).
	extensionKey = "dev.slipway"
	managedType  = "VirtualMachine"
	// diskUUIDKey lets the guest see the UUIDs of its disks, by which storage drivers
	// find theirs.
	diskUUIDKey = "disk.enableUUID"
)

// compareIdentity compares the name of the VM and the marks that identify its object.
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

// setOnce sets what a VM gets when it is made and what is an administrator's to change
// from then on.
func setOnce(in *input) []Difference {
	if in.exists() {
		return nil
	}
	note := fmt.Sprintf("VirtualMachine %s of Slipway. Change that object: what is changed here may be changed back.", in.Owner().Key)
	return []Difference{
		compareOption(in, "metadata.name", diskUUIDKey, "TRUE", false, false),
		{Path: "metadata.name", Desired: note, set: func(s *types.VirtualMachineConfigSpec) {
			s.Annotation = note
			s.ManagedBy = &types.ManagedByInfo{ExtensionKey: extensionKey, Type: managedType}
		}},
	}
}

// compareMark records that the VM is not complete, or that it is.
func compareMark(in *input) Difference {
	switch {
	case in.vm.Config == nil && in.Attempt != "":
		return compareOption(in, "bootstrap", observe.PendingKey, in.Attempt, false, true)
	case in.Bootstrapped:
		return compareOption(in, "bootstrap", observe.PendingKey, "", false, true)
	}
	return Difference{}
}

// Keep lets vm keep a record. The text and its head are written together, so that the head
// is never that of another record.
func Keep(vm *mo.VirtualMachine, r driver.Record) Difference {
	head := r.Head.String()
	return Difference{
		Path: "metadata.record", Running: observe.ExtraConfig(vm, observe.RecordHeadKey), Desired: head, Live: true,
		set: func(s *types.VirtualMachineConfigSpec) {
			option(observe.RecordHeadKey, head)(s)
			option(observe.RecordKey, r.Text)(s)
		},
	}
}

// GuestSettingsSchema is the schema of records that added observe.GuestSettingsKey.
const GuestSettingsSchema = 2

// Lacking returns what vm lacks of what the schemas of records after since have added, and that is filled in once.
// Schema 1 added the record of the adapters: before it, the record was only written with another change of the VM.
// GuestSettingsSchema added the settings that the guest was given: those of the spec, for nothing else is known of them.
func Lacking(want Want, vm *mo.VirtualMachine, since int) []Difference {
	if want.Effective == nil || vm.Config == nil {
		return nil
	}
	in := newInput(want, vm)
	var out []Difference
	if since < 1 && in.extra(observe.AdaptersKey) == "" {
		out = append(out, recordAdapters(in))
	}
	if since < GuestSettingsSchema && in.extra(observe.GuestSettingsKey) == "" {
		out = append(out, compareOption(in, "metadata.guest", observe.GuestSettingsKey, handedSettings(in).text(), true, true))
	}
	return changed(out)
}

// RecordRestart records the time that a restart was asked for.
func RecordRestart(t time.Time) types.VirtualMachineConfigSpec {
	return RecordRestartAs(t.UTC().Format(restartFormat))
}

// RecordRestartAs records what was recorded before.
func RecordRestartAs(value string) types.VirtualMachineConfigSpec {
	return types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: lastRestartKey, Value: value}}}
}
