// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

const (
	// DefaultGracePeriod is how long an action waits for the guest by default. It is documented in
	// the API.
	DefaultGracePeriod = 5 * time.Minute
	// settleTime is how long an action waits until the inventory's stream shows the result. After
	// that the action reads the VM directly.
	settleTime = 3 * time.Second
)

// Actor changes vSphere VMs.
type Actor struct {
	// Session is the connection to vCenter.
	Session *session.Session
	// Inventory shows the results of actions.
	Inventory *inventory.Inventory
	// OnDetached, if set, is called for each disk that was detached because it is not the VM's own.
	// why is the reason.
	OnDetached func(vm *mo.VirtualMachine, file, why string)
	// GracePeriod is how long an action waits for the guest. 0 means DefaultGracePeriod.
	GracePeriod time.Duration
}

// Task starts a task, waits for its end and returns its result.
func (a *Actor) Task(ctx context.Context, start func(*vim25.Client) (types.ManagedObjectReference, error)) (types.AnyType, error) {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := start(c)
	if err != nil {
		return nil, err
	}
	return a.Inventory.WaitTask(ctx, ref)
}

// settle waits until the inventory shows the result of an action.
func (a *Actor) settle(ctx context.Context, vm types.ManagedObjectReference, shown func(*mo.VirtualMachine) bool) error {
	wctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if a.Inventory.WaitFor(wctx, vm, shown) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := a.Inventory.Refresh(ctx, vm)
	return err
}

// WaitForConfig waits until the inventory has the configuration of a new VM, and returns the VM.
func (a *Actor) WaitForConfig(ctx context.Context, vm types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	err := a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm != nil && vm.Config != nil })
	return a.Inventory.Get(vm), err
}

// refreshAfter refreshes the inventory if an action failed because the inventory was outdated. It returns
// err.
func (a *Actor) refreshAfter(ctx context.Context, vm types.ManagedObjectReference, err error) error {
	switch vimfault.KindOf(err) {
	case vimfault.WrongState, vimfault.NotFound:
		if _, rerr := a.Inventory.Refresh(ctx, vm); rerr != nil {
			return fmt.Errorf("%w; refreshing the VM: %w", err, rerr)
		}
	default: // the inventory is up to date
	}
	return err
}

// Reconfigure applies spec.
func (a *Actor) Reconfigure(ctx context.Context, vm types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) error {
	before := changeVersion(a.Inventory.Get(vm))
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.ReconfigVM_Task(ctx, c, &types.ReconfigVM_Task{This: vm, Spec: spec})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("reconfiguring %s: %w", vm.Value, err))
	}
	return a.settle(ctx, vm, func(vm *mo.VirtualMachine) bool { return vm == nil || changeVersion(vm) != before })
}

// Customize sets the guest customization for the next power on. It succeeds if a customization is
// already pending, because only Slipway customizes a VM that is being created.
func (a *Actor) Customize(ctx context.Context, vm types.ManagedObjectReference, spec types.CustomizationSpec) error {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CustomizeVM_Task(ctx, c, &types.CustomizeVM_Task{This: vm, Spec: spec})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil && !fault.Is(err, &types.CustomizationPending{}) {
		return a.refreshAfter(ctx, vm, fmt.Errorf("customizing the guest of %s: %w", vm.Value, err))
	}
	return nil
}

// Upgrade upgrades the virtual hardware of a powered-off VM to the version to.
func (a *Actor) Upgrade(ctx context.Context, vm types.ManagedObjectReference, to string) error {
	_, err := a.Task(ctx, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.UpgradeVM_Task(ctx, c, &types.UpgradeVM_Task{This: vm, Version: to})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("upgrading the hardware of %s to %s: %w", vm.Value, to, err))
	}
	_, err = a.Inventory.Refresh(ctx, vm)
	return err
}

func changeVersion(vm *mo.VirtualMachine) string {
	if vm == nil || vm.Config == nil {
		return ""
	}
	return vm.Config.ChangeVersion
}
