// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Destroy deletes the VM and its files.
//
// It first detaches disks that are not the VM's own, because vSphere deletes all attached disks. That
// includes first class disks, unless keepAfterDeleteVm is set (API, BaseConfigInfo), and other clients
// set and clear that flag (kubernetes-sigs/vsphere-csi-driver#4054). Destroy does not delete the VM if
// these disks cannot be determined or if one of them is still attached.
//
// If the task fails or is lost, Destroy reads the VM, because the task may have been carried out.
func (a *Actor) Destroy(ctx context.Context, vm types.ManagedObjectReference) error {
	now, err := a.ensureOnlyOwnDisks(ctx, vm)
	if err == nil && now != nil {
		err = a.destroy(ctx, vm)
	}
	if err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("destroying %s: %w", vm.Value, err))
	}
	a.Inventory.Forget(vm)
	return nil
}

func (a *Actor) destroy(ctx context.Context, vm types.ManagedObjectReference) error {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.Destroy_Task(ctx, c, &types.Destroy_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err == nil || vimfault.IsNotFound(err, vm) {
		return nil
	}
	if now, rerr := a.readDisks(ctx, vm); rerr == nil && now == nil {
		return nil
	}
	return err
}

// readDisks reads from vSphere, not from the inventory, the properties that identify the VM's own
// disks. It returns nil if the VM does not exist.
func (a *Actor) readDisks(ctx context.Context, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	var vm mo.VirtualMachine
	paths := []string{"config.changeVersion", "config.files", "config.hardware.device", "config.extraConfig", "rootSnapshot"}
	err = property.DefaultCollector(c).RetrieveOne(ctx, ref, paths, &vm)
	switch {
	case vimfault.IsNotFound(err, ref):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the files of the VM: %w", err)
	}
	vm.Self = ref
	return &vm, nil
}

// ensureOnlyOwnDisks detaches the disks that are not the VM's own and reads the VM again. It returns
// nil if the VM does not exist. The volume service detaches first class disks, so that it records
// them as detached. If it refuses, a reconfiguration detaches them.
func (a *Actor) ensureOnlyOwnDisks(ctx context.Context, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	vm, err := a.readDisks(ctx, ref)
	if err != nil || vm == nil {
		return nil, err
	}
	disks, err := foreignDisks(vm, a.Inventory.All())
	if err != nil {
		return nil, err
	}
	if len(disks) == 0 {
		return vm, nil
	}
	for id := range observe.FirstClass(vm) {
		if err := a.DetachVolume(ctx, ref, id); err != nil {
			if !vimfault.IsRefused(err) {
				return nil, err
			}
			klog.FromContext(ctx).Info("The volume service refused to detach a first class disk; detaching it by reconfiguration",
				"vm", ref.Value, "disk", id, "cause", err.Error())
		}
	}
	if vm, err = a.readDisks(ctx, ref); err != nil || vm == nil {
		return nil, err
	}
	if err := a.detachForeign(ctx, vm); err != nil {
		return nil, err
	}
	if vm, err = a.readDisks(ctx, ref); err != nil || vm == nil {
		return nil, err
	}
	remaining, err := foreignDisks(vm, a.Inventory.All())
	if err == nil && len(remaining) > 0 {
		err = &vimfault.ChangedError{Message: fmt.Sprintf("disk %s, which is not the VM's own, was attached during the deletion", remaining[0].name)}
	}
	for _, d := range disks {
		if err == nil && a.OnDetached != nil && !d.linked {
			a.OnDetached(vm, d.name, d.reason)
		}
	}
	return vm, err
}

// detachForeign detaches the disks without deleting their files. vSphere refuses if another client
// has changed the VM since it was read.
func (a *Actor) detachForeign(ctx context.Context, vm *mo.VirtualMachine) error {
	disks, err := foreignDisks(vm, a.Inventory.All())
	if err != nil || len(disks) == 0 {
		return err
	}
	spec := types.VirtualMachineConfigSpec{ChangeVersion: vm.Config.ChangeVersion}
	for _, d := range disks {
		klog.FromContext(ctx).Info("Detaching a disk that is not the VM's own before destroying the VM",
			"vm", vm.Self.Value, "disk", d.name, "reason", d.reason)
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d.disk})
	}
	if err := a.Reconfigure(ctx, vm.Self, spec); err != nil {
		return fmt.Errorf("detaching %d disks that are not the VM's own: %w", len(disks), err)
	}
	return nil
}

// Unregister removes the VM from the inventory and keeps its files. It succeeds if the VM does not
// exist.
func (a *Actor) Unregister(ctx context.Context, vm types.ManagedObjectReference) error {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	_, err = methods.UnregisterVM(ctx, c, &types.UnregisterVM{This: vm})
	if err != nil && !vimfault.IsNotFound(err, vm) {
		return a.refreshAfter(ctx, vm, fmt.Errorf("unregistering %s: %w", vm.Value, err))
	}
	a.Inventory.Forget(vm)
	return nil
}
