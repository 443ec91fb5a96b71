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

// guestInfo precedes the keys of extraConfig that the guest reads and writes, user data
// among them.
const guestInfo = "guestinfo."

func (c *Creator) clone(ctx context.Context, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return none, err
	}
	from := rep.Source.Template
	template, err := cloned(ctx, vim, rep.Source)
	if err != nil {
		return none, fmt.Errorf("reading what is cloned, %s: %w", from.Value, err)
	}
	doing := fmt.Sprintf("cloning %s, whose disks have %s in all", from.Value, hardware.Bytes(capacity(template)))
	return c.made(ctx, doing, func(vim *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CloneVM_Task(ctx, vim, &types.CloneVM_Task{
			This: from, Folder: folder, Name: want.Name, Spec: cloneOf(template, want, rep, folder, spec),
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

// cloned reads the configuration that is cloned: that of the snapshot, if there is one.
func cloned(ctx context.Context, vim *vim25.Client, source placement.Source) (*mo.VirtualMachine, error) {
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

// cloneOf is the request for a clone of template. Its adapters give way to those of
// spec, for where the clone goes the template's networks may not be. A TPM is made
// anew: with a copy the clone would have the template's secrets. What we have once said
// of the template, a pause for example, is not said of the clone.
//
// Of the virtual machine of an object the clone has nothing else that is its own either:
// no drives and no disks of claims, and nothing that its guest was told.
func cloneOf(template *mo.VirtualMachine, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) types.VirtualMachineCloneSpec {
	machine := rep.Source.Machine
	spec.Name, spec.DeviceChange = "", configspec.CloneDevices(want, template, spec.DeviceChange, machine)
	for _, o := range template.Config.ExtraConfig {
		key := o.GetOptionValue().Key
		if observe.Ours(key) || machine && strings.HasPrefix(strings.ToLower(key), guestInfo) {
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
		spec.VAppConfig = configspec.ForgottenProperties(template)
		// Its disks may be children of others, of a cache or of snapshots.
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
