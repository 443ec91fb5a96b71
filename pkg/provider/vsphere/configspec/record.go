// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// record lets a new VM keep the record of the object. That of one which is there is kept by
// Keep.
func (c *comparison) record() {
	if r := c.want.Record; r.Text != "" {
		c.add(Keep(c.vm, r))
	}
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

// schemas are what each schema of records has brought that VMs of before lack, and that is
// filled in once.
var schemas = []struct {
	since int
	lacks func(*comparison)
}{
	// Until then which adapter is whose was in the status of the object alone, as long as
	// nothing of the VM was changed.
	{1, (*comparison).lacksAdapters},
}

// Lacking is what vm lacks of what schemas after since have brought.
func Lacking(want Want, vm *mo.VirtualMachine, since int) []Difference {
	c := newComparison(want, vm)
	for _, s := range schemas {
		if s.since > since && want.Effective != nil && vm.Config != nil {
			s.lacks(c)
		}
	}
	return c.out
}

func (c *comparison) lacksAdapters() {
	interfaces := interfacesOf(c.want.Effective)
	have := observe.Assign(c.vm, interfaces, c.want.Adapters)
	if all := have.Record(interfaces); len(all) > 0 && extra(c, observe.AdaptersKey) == "" {
		c.recordThe(have, interfaces)
	}
}
