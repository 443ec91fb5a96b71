// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// guestInfo is the prefix of extraConfig keys that the guest reads and writes, including user data.
const guestInfo = "guestinfo."

func (c *Creator) clone(ctx context.Context, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return none, err
	}
	from := rep.Source.Template
	template, err := readSource(ctx, vim, rep.Source)
	if err != nil {
		return none, fmt.Errorf("reading the source of the clone, %s: %w", from.Value, err)
	}
	operation := fmt.Sprintf("cloning %s (%s of disks)", from.Value, hardware.FormatBytes(capacity(template)))
	return c.runCreateTask(ctx, operation, func(vim *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CloneVM_Task(ctx, vim, &types.CloneVM_Task{
			This: from, Folder: folder, Name: want.Name, Spec: cloneSpec(template, want, rep, folder, spec),
		})
		if err != nil {
			return none, err
		}
		return res.Returnval, nil
	})
}

// capacity returns the size of all disks of vm in bytes.
func capacity(vm *mo.VirtualMachine) (total int64) {
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			total += observe.Capacity(disk)
		}
	}
	return total
}

// readSource reads the configuration to clone: that of the snapshot if there is one, otherwise that of the
// template.
func readSource(ctx context.Context, vim *vim25.Client, source placement.Source) (*mo.VirtualMachine, error) {
	var vm mo.VirtualMachine
	collector := property.DefaultCollector(vim)
	if source.Snapshot != nil {
		var snapshot mo.VirtualMachineSnapshot
		if err := collector.RetrieveOne(ctx, *source.Snapshot, []string{"config"}, &snapshot); err != nil {
			return nil, err
		}
		vm.Config = &snapshot.Config
	} else if err := collector.RetrieveOne(ctx, source.Template, []string{"config.hardware.device", "config.extraConfig", "config.vAppConfig"}, &vm); err != nil {
		return nil, err
	}
	if vm.Config == nil {
		return nil, errors.New("its configuration cannot be read")
	}
	vm.Self = source.Template
	return &vm, nil
}

// cloneSpec returns the request for a clone of template. The adapters of spec replace the template's adapters,
// because the template's networks may not exist at the target. The TPM is replaced, because a copy would contain
// the template's secrets. Extra config keys of Slipway, such as a pause, are removed from the clone.
//
// A clone of an object's VM also gets no drives, no disks of claims and no guestinfo data of that VM.
func cloneSpec(template *mo.VirtualMachine, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) types.VirtualMachineCloneSpec {
	machine := rep.Source.Machine
	spec.Name, spec.DeviceChange = "", configspec.CloneDevices(want, template, spec.DeviceChange, machine)
	for _, o := range template.Config.ExtraConfig {
		key := o.GetOptionValue().Key
		if observe.IsSlipwayKey(key) || machine && strings.HasPrefix(strings.ToLower(key), guestInfo) {
			spec.ExtraConfig = object.OptionValueList(spec.ExtraConfig).Join(&types.OptionValue{Key: key, Value: ""})
		}
	}
	out := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			Pool: &rep.Pool, Datastore: &rep.Datastore, Folder: &folder, Disk: configspec.CloneDisks(want, template, rep.Datastore),
		},
		Snapshot: rep.Source.Snapshot,
		Config:   &spec,
	}
	if machine {
		spec.VAppConfig = configspec.ClearedProperties(template)
		// The source's disks may be linked to disks of a cache or of snapshots.
		out.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate)
	}
	if id := configspec.HomeProfile(want); id != "" {
		out.Location.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: id}}
	}
	if configspec.HasTPM(template) {
		out.TpmProvisionPolicy = string(types.VirtualMachineCloneSpecTpmProvisionPolicyReplace)
	}
	return out
}
