// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/report"
)

// machine is an immutable state of a VM in the inventory.
type machine struct {
	driver *Driver
	vm     *mo.VirtualMachine
}

var _ driver.Machine = machine{}

func (d *Driver) machine(vm *mo.VirtualMachine) machine { return machine{driver: d, vm: vm} }

func (m machine) ref() vimtypes.ManagedObjectReference { return m.vm.Self }

// Observe implements driver.Machine.
func (m machine) Observe(w *driver.Desired) provider.Observation {
	o := report.Observe(m.vm, w, m.driver.inventory.HostName)
	o.VCenterInstanceUUID = m.driver.session.Info().InstanceUUID
	report.AddCompliance(&o, m.vm, m.driver.compliance.StatusOf(m.vm))
	if o.Readable && w.Effective != nil {
		o.Set(configspec.GuestNetwork(configspec.Desired{Desired: *w}, m.vm, o.Network, o.RecordHead.Schema >= configspec.GuestSettingsSchema))
	}
	o.Set(report.LocationCondition(m.vm, m.driver.inventory.IsOutside(m.ref())))
	return o
}

// Compare implements driver.Machine.
func (m machine) Compare(w *driver.Desired) driver.Comparison {
	want := m.driver.desiredSpec(w)
	want.HostMHz = m.driver.inventory.HostMHz(m.vm.Runtime.Host)
	var notAllowed []string
	notAllowed, want.NotAllowedLists = m.driver.disallowedDevices(w)
	c := driver.Comparison{
		Refused:    configspec.Refused(want, m.vm),
		NotApplied: configspec.NotApplied(want, m.vm), Deviations: configspec.Deviations(want, m.vm),
	}
	c.Refused.NotAllowed = notAllowed
	for _, d := range configspec.Differences(want, m.vm) {
		c.Differences = append(c.Differences, convertDifference(d))
	}
	if len(want.NetworkBackings) < len(placement.NetworkNames(w.Effective)) {
		c.Unresolved = append(c.Unresolved, vmv1alpha1.ConditionNetworkReady)
	}
	if !m.driver.resolver(w.Identity.Zone).StorageKnown(w) {
		c.Unresolved = append(c.Unresolved, vmv1alpha1.ConditionStorageReady)
	}
	return c
}

// Record implements driver.Machine.
func (m machine) Record() string { return observe.ExtraConfig(m.vm, observe.RecordKey) }

// StoreRecord implements driver.Machine.
func (m machine) StoreRecord(r driver.Record) driver.Difference {
	return convertDifference(configspec.StoreRecord(m.vm, r))
}

// MissingMetadata implements driver.Machine.
func (m machine) MissingMetadata(w *driver.Desired, since int) []driver.Difference {
	var out []driver.Difference
	for _, d := range configspec.MissingRecords(m.driver.desiredSpec(w), m.vm, since) {
		out = append(out, convertDifference(d))
	}
	return out
}

// convertDifference converts a difference to the engine's type.
func convertDifference(d configspec.Difference) driver.Difference {
	return driver.Difference{
		Path: d.Path, Running: d.Running, Desired: d.Desired, Live: d.Live, FirstBoot: d.FirstBoot,
		IsMetadata: d.IsMetadata(), Change: d,
	}
}

// ownChanges returns this driver's part of differences that Compare has returned.
func ownChanges(diffs []driver.Difference) []configspec.Difference {
	out := make([]configspec.Difference, 0, len(diffs))
	for _, d := range diffs {
		change, ok := d.Change.(configspec.Difference)
		if !ok {
			panic(fmt.Sprintf("the difference of %s has a change of type %T", d.Path, d.Change))
		}
		out = append(out, change)
	}
	return out
}
