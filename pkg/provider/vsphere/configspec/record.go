// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

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

// Lacking returns what vm lacks of what the schemas of records after since have added, and that is filled in once.
// Schema 1 added the record of the adapters: before it, the record was only written with another change of the VM.
func Lacking(want Want, vm *mo.VirtualMachine, since int) []Difference {
	if since >= 1 || want.Effective == nil || vm.Config == nil || observe.ExtraConfig(vm, observe.AdaptersKey) != "" {
		return nil
	}
	var out list
	out.add(recordAdapters(newInput(want, vm)))
	return out
}
