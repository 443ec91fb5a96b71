// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

const (
	on        = types.VirtualMachinePowerStatePoweredOn
	off       = types.VirtualMachinePowerStatePoweredOff
	suspended = types.VirtualMachinePowerStateSuspended
)

// inState is true for a VM in the state, and for one that is gone: there is
// nothing to wait for then.
func inState(state types.VirtualMachinePowerState) func(*mo.VirtualMachine) bool {
	return func(vm *mo.VirtualMachine) bool { return vm == nil || vm.Runtime.PowerState == state }
}

// powerTask runs a power task, for which a VM that is already in the state is
// success.
func (a *Actor) powerTask(ctx context.Context, vm types.ManagedObjectReference, what string, state types.VirtualMachinePowerState,
	start func(*vim25.Client) (types.ManagedObjectReference, error),
) error {
	_, err := a.Task(ctx, start)
	if vimfault.KindOf(err) == vimfault.WrongState {
		now, rerr := a.Inventory.Refresh(ctx, vm)
		if rerr == nil && now != nil && now.Runtime.PowerState == state {
			return nil
		}
	}
	if err != nil {
		return a.after(ctx, vm, fmt.Errorf("%s of %s: %w", what, vm.Value, err))
	}
	return a.settle(ctx, vm, inState(state))
}

// PowerOn powers on or resumes.
func (a *Actor) PowerOn(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "power on", on, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

func (a *Actor) hardOff(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "power off", off, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOffVM_Task(ctx, c, &types.PowerOffVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

func (a *Actor) hardSuspend(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "suspend", suspended, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.SuspendVM_Task(ctx, c, &types.SuspendVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

func (a *Actor) hardReset(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "reset", on, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.ResetVM_Task(ctx, c, &types.ResetVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

// soft asks the guest by ask, then waits for the state no longer than grace. A guest that may
// have heard without anybody knowing has its time, too, before it is asked again.
func (a *Actor) soft(ctx context.Context, vm types.ManagedObjectReference, what string, state types.VirtualMachinePowerState, grace time.Duration,
	ask func(context.Context, *vim25.Client) error,
) error {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	asked := ask(ctx, c)
	if asked != nil {
		asked = a.after(ctx, vm, fmt.Errorf("asking the guest of %s to %s: %w", vm.Value, what, asked))
		if vimfault.Refused(asked) || unsent(asked) {
			return asked
		}
	}
	if grace <= 0 {
		grace = a.GracePeriod
	}
	if grace <= 0 {
		grace = DefaultGracePeriod
	}
	wctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err = a.Inventory.WaitFor(wctx, vm, inState(state))
	switch {
	case err == nil:
		return nil
	case asked != nil:
		return asked
	}
	return &silentError{fmt.Errorf("the guest of %s did not %s within %s: %w", vm.Value, what, grace, err)}
}

// silentError means that the guest was asked and had its time.
type silentError struct{ error }

// Unwrap returns what the wait for the guest ended with.
func (e *silentError) Unwrap() error { return e.error }

// unsent is true when there was no connection by which anybody could have heard.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// askAgain is true when nobody has answered for the guest, or when another task is in the way,
// which ends: its time has not begun then.
func askAgain(err error) bool {
	var silent *silentError
	return !errors.As(err, &silent) && (!vimfault.Refused(err) || fault.Is(err, &types.TaskInProgress{}))
}

// byMode runs soft, hard, or soft and then hard. A guest that may have heard is not forced on
// top of that.
func byMode(ctx context.Context, mode vmv1alpha1.PowerOpMode, soft, hard func() error) error {
	if mode == vmv1alpha1.PowerOpModeHard {
		return hard()
	}
	err := soft()
	if err == nil || mode == vmv1alpha1.PowerOpModeSoft || ctx.Err() != nil || askAgain(err) {
		return err
	}
	klog.FromContext(ctx).V(2).Info("The guest did not do as asked", "cause", err.Error())
	return hard()
}

// PowerOff powers off by mode. Grace bounds the wait for the guest; 0 means
// the default.
func (a *Actor) PowerOff(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	return byMode(ctx, mode, func() error {
		return a.soft(ctx, vm, "shut down", off, grace, func(ctx context.Context, c *vim25.Client) error {
			_, err := methods.ShutdownGuest(ctx, c, &types.ShutdownGuest{This: vm})
			return err
		})
	}, func() error { return a.hardOff(ctx, vm) })
}

// Suspend suspends by mode.
func (a *Actor) Suspend(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	return byMode(ctx, mode, func() error {
		return a.soft(ctx, vm, "stand by", suspended, grace, func(ctx context.Context, c *vim25.Client) error {
			_, err := methods.StandbyGuest(ctx, c, &types.StandbyGuest{This: vm})
			return err
		})
	}, func() error { return a.hardSuspend(ctx, vm) })
}

// Reboot reboots the guest or resets the VM, by mode. Nothing tells when a
// guest has rebooted, so that asking it is all.
func (a *Actor) Reboot(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode) error {
	return byMode(ctx, mode, func() error { return a.rebootGuest(ctx, vm) }, func() error { return a.hardReset(ctx, vm) })
}

func (a *Actor) rebootGuest(ctx context.Context, vm types.ManagedObjectReference) error {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	if _, err := methods.RebootGuest(ctx, c, &types.RebootGuest{This: vm}); err != nil {
		return a.after(ctx, vm, fmt.Errorf("asking the guest of %s to reboot: %w", vm.Value, err))
	}
	return nil
}
