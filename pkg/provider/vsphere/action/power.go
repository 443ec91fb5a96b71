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
	poweredOn  = types.VirtualMachinePowerStatePoweredOn
	poweredOff = types.VirtualMachinePowerStatePoweredOff
	suspended  = types.VirtualMachinePowerStateSuspended
)

// inState returns a predicate that is true for a VM in the power state. It is also true for a VM
// that does not exist, because there is nothing to wait for.
func inState(state types.VirtualMachinePowerState) func(*mo.VirtualMachine) bool {
	return func(vm *mo.VirtualMachine) bool { return vm == nil || vm.Runtime.PowerState == state }
}

// powerTask runs a power task. It succeeds if the VM already has the power state.
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
		return a.refreshAfter(ctx, vm, fmt.Errorf("%s of %s: %w", what, vm.Value, err))
	}
	return a.settle(ctx, vm, inState(state))
}

// PowerOn powers the VM on or resumes it.
func (a *Actor) PowerOn(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "power on", poweredOn, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

func (a *Actor) hardOff(ctx context.Context, vm types.ManagedObjectReference) error {
	return a.powerTask(ctx, vm, "power off", poweredOff, func(c *vim25.Client) (types.ManagedObjectReference, error) {
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
	return a.powerTask(ctx, vm, "reset", poweredOn, func(c *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.ResetVM_Task(ctx, c, &types.ResetVM_Task{This: vm})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

// requestGuest calls request, which asks the guest, and waits for the power state, at most for grace. If
// it is unknown whether the guest received the request, it also waits before it returns the error.
func (a *Actor) requestGuest(ctx context.Context, vm types.ManagedObjectReference, what string, state types.VirtualMachinePowerState, grace time.Duration,
	request func(context.Context, *vim25.Client) error,
) error {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	requestErr := request(ctx, c)
	if requestErr != nil {
		requestErr = a.refreshAfter(ctx, vm, fmt.Errorf("asking the guest of %s to %s: %w", vm.Value, what, requestErr))
		if vimfault.IsRefused(requestErr) || isUnsent(requestErr) {
			return requestErr
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
	case requestErr != nil:
		return requestErr
	}
	return &guestTimeoutError{fmt.Errorf("the guest of %s did not %s within %s: %w", vm.Value, what, grace, err)}
}

// guestTimeoutError is returned when the guest received the request and did not comply within the grace
// period.
type guestTimeoutError struct{ error }

// Unwrap returns the error of the wait for the guest.
func (e *guestTimeoutError) Unwrap() error { return e.error }

// isUnsent reports whether the request could not be sent, because there was no connection.
func isUnsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// mustRepeatRequest reports whether the request must be repeated. This is necessary when the guest's
// response is unknown, or when another task blocks the VM temporarily. In both cases the grace period has not started.
func mustRepeatRequest(err error) bool {
	var silent *guestTimeoutError
	return !errors.As(err, &silent) && (!vimfault.IsRefused(err) || fault.Is(err, &types.TaskInProgress{}))
}

// runByMode runs soft, hard, or soft and then hard. It does not run hard if the guest may still be
// processing the request.
func runByMode(ctx context.Context, mode vmv1alpha1.PowerOpMode, soft, hard func() error) error {
	if mode == vmv1alpha1.PowerOpModeHard {
		return hard()
	}
	err := soft()
	if err == nil || mode == vmv1alpha1.PowerOpModeSoft || ctx.Err() != nil || mustRepeatRequest(err) {
		return err
	}
	klog.FromContext(ctx).V(2).Info("The guest did not comply with the request", "cause", err.Error())
	return hard()
}

// PowerOff powers the VM off by mode. grace limits the wait for the guest; 0 means the default.
func (a *Actor) PowerOff(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	return runByMode(ctx, mode, func() error {
		return a.requestGuest(ctx, vm, "shut down", poweredOff, grace, func(ctx context.Context, c *vim25.Client) error {
			_, err := methods.ShutdownGuest(ctx, c, &types.ShutdownGuest{This: vm})
			return err
		})
	}, func() error { return a.hardOff(ctx, vm) })
}

// Suspend suspends the VM by mode. grace limits the wait for the guest; 0 means the default.
func (a *Actor) Suspend(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	return runByMode(ctx, mode, func() error {
		return a.requestGuest(ctx, vm, "stand by", suspended, grace, func(ctx context.Context, c *vim25.Client) error {
			_, err := methods.StandbyGuest(ctx, c, &types.StandbyGuest{This: vm})
			return err
		})
	}, func() error { return a.hardSuspend(ctx, vm) })
}

// Reboot reboots the guest or resets the VM, by mode. It does not wait for the guest, because
// vSphere does not report when a guest has rebooted.
func (a *Actor) Reboot(ctx context.Context, vm types.ManagedObjectReference, mode vmv1alpha1.PowerOpMode) error {
	return runByMode(ctx, mode, func() error { return a.rebootGuest(ctx, vm) }, func() error { return a.hardReset(ctx, vm) })
}

func (a *Actor) rebootGuest(ctx context.Context, vm types.ManagedObjectReference) error {
	c, err := a.Session.Vim(ctx)
	if err != nil {
		return err
	}
	if _, err := methods.RebootGuest(ctx, c, &types.RebootGuest{This: vm}); err != nil {
		return a.refreshAfter(ctx, vm, fmt.Errorf("asking the guest of %s to reboot: %w", vm.Value, err))
	}
	return nil
}
