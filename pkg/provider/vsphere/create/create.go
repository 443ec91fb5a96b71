// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/action"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// cleanupTimeout bounds the removal of what a failed create left behind.
const cleanupTimeout = time.Minute

// Creator makes vSphere VMs.
type Creator struct {
	// Actor does the single steps.
	Actor *action.Actor
	// Places resolves the folder of the namespace.
	Places *placement.Resolver
	// Descriptors reads those of library items.
	Descriptors *descriptor.Reader
}

// Create returns when the inventory shows the VM, made from rep.Source, or of what fast says
// unless that is nil, at the place of rep, or found if it exists. A new VM carries the mark
// of this attempt until it is complete.
func (c *Creator) Create(ctx context.Context, want configspec.Want, rep *placement.Report, fast *Fast) error {
	found, err := c.find(ctx, want)
	if err != nil || found {
		return err
	}
	folder, err := c.Places.NamespaceFolder(ctx, want.Owner().Key.Namespace)
	if err != nil {
		return err
	}
	if other := c.Actor.Inventory.Child(folder, want.Name); other != nil {
		return &ConflictError{Message: fmt.Sprintf("the vSphere VM %s (%s) is at the inventory path of this virtual machine and has another instance UUID",
			other.Name, other.Self.Value)}
	}
	want.Backings, want.Attempt = rep.Backings, rand.Text()
	want.Storage, want.ISOs = rep.Storage, rep.ISOs
	began := time.Now()
	diffs := configspec.Differences(want, &mo.VirtualMachine{})
	spec, image, err := c.prepare(ctx, &want, rep, diffs)
	if err != nil {
		return err
	}
	var ref types.ManagedObjectReference
	if fast != nil {
		ref, err = c.buildFast(ctx, want, rep, folder, spec, &image.Hardware, fast)
	} else {
		ref, err = c.build(ctx, want, rep, folder, spec)
	}
	if err != nil {
		if final(err) {
			c.cleanUp(ctx, want, began)
		}
		return configspec.Blame(err, spec, diffs)
	}
	vm, err := c.Actor.Settle(ctx, ref)
	if err != nil {
		return err
	}
	return c.complete(ctx, want, vm)
}

// Complete finishes the create of a VM that carries the mark of an attempt.
func (c *Creator) Complete(ctx context.Context, want configspec.Want, ref types.ManagedObjectReference) error {
	vm, err := c.Actor.Inventory.Refresh(ctx, ref)
	switch {
	case err != nil:
		return err
	case !observe.Readable(vm) || !observe.Pending(vm) || observe.OwnershipOf(vm, want.Owner()) != driver.Own:
		return &vimfault.ChangedError{Message: fmt.Sprintf("the VM %s is not as it was", ref.Value)}
	}
	return c.complete(ctx, want, vm)
}

// complete sets what the server did not take over from the request. It matters
// that it is done here: a VM without its identity would not be found.
func (c *Creator) complete(ctx context.Context, want configspec.Want, vm *mo.VirtualMachine) error {
	if vm == nil || vm.Config == nil {
		return errors.New("the new vSphere VM is not readable")
	}
	want.New, want.HostMHz = true, c.Actor.Inventory.HostMHz(vm.Runtime.Host)
	custom, path := configspec.Customization(want)
	want.Bootstrapped = custom == nil && !configspec.TellsLater(want, vm)
	if err := c.reconfigure(ctx, want, vm); err != nil || want.Bootstrapped {
		return err
	}
	// What the guest is told names each adapter, so that these come first.
	if custom != nil {
		if err := c.Actor.Customize(ctx, vm.Self, *custom); err != nil {
			return fmt.Errorf("%s: %w", configspec.Field(path), err)
		}
	}
	want.Bootstrapped = true
	return c.reconfigure(ctx, want, c.Actor.Inventory.Get(vm.Self))
}

func (c *Creator) reconfigure(ctx context.Context, want configspec.Want, vm *mo.VirtualMachine) error {
	if vm == nil {
		return errors.New("the new vSphere VM is gone")
	}
	diffs := configspec.Differences(want, vm)
	if len(diffs) == 0 || configspec.OnlyElsewhere(diffs) {
		return nil
	}
	spec := configspec.Spec(diffs)
	return configspec.Blame(c.Actor.Reconfigure(ctx, vm.Self, spec), spec, diffs)
}

// final is true for an error by which vSphere says that it made nothing. After
// others the VM may be there, or still being made: an answer was lost, this
// process ends, or a request of one that died has just been carried out. Then
// the next pass finds it.
func final(err error) bool {
	switch vimfault.KindOf(err) {
	case vimfault.Temporary, vimfault.AlreadyExists, vimfault.Cancelled:
		return false
	default:
		return true
	}
}

// cleanUp removes what an attempt has left that vSphere says has failed.
func (c *Creator) cleanUp(ctx context.Context, want configspec.Want, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.removeLeftover(ctx, want, began); err != nil {
		klog.FromContext(ctx).Error(err, "Removing what a failed create left behind failed", "instanceUUID", want.Identity.InstanceUUID)
	}
}

func (c *Creator) removeLeftover(ctx context.Context, want configspec.Want, began time.Time) error {
	seen, err := c.LookUp(ctx, inventory.Names{InstanceUUID: want.Identity.InstanceUUID}, want.Owner())
	if err != nil || seen.VM == nil {
		return err
	}
	vm, err := c.read(ctx, *seen.VM, "config.createDate", "runtime.powerState", "runtime.bootTime")
	if err != nil || vm == nil {
		return err
	}
	if !madeBy(vm, want.Attempt, began) {
		klog.FromContext(ctx).Info("A vSphere VM with the identity of a create that failed is left in place: this attempt did not make it",
			"vm", seen.VM.Value, "instanceUUID", want.Identity.InstanceUUID)
		return nil
	}
	return c.Actor.Destroy(ctx, *seen.VM)
}

// clockSkew is how far the clocks of vCenter and this process may be apart.
const clockSkew = session.SkewTolerance

// checkClock returns an error while the clocks are further apart: then the times of tasks do
// not show which of them came first.
func (c *Creator) checkClock(ctx context.Context) error {
	skew, err := c.Actor.Session.MeasureSkew(ctx)
	if err == nil && skew.Abs() > clockSkew {
		err = &vimfault.BusyError{Message: fmt.Sprintf("waiting for the clocks to be set: %s, and at most %s are allowed to decide by the tasks of vCenter",
			session.DescribeSkew(skew), clockSkew)}
	}
	return err
}

// madeBy is true for a VM that the attempt has made, and that nobody has used since: it
// carries the mark, which only this attempt knows, is off, and is not older.
func madeBy(vm *mo.VirtualMachine, attempt string, began time.Time) bool {
	return attempt != "" && observe.ExtraConfig(vm, observe.PendingKey) == attempt &&
		vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff && vm.Runtime.BootTime == nil &&
		(vm.Config.CreateDate == nil || !vm.Config.CreateDate.Before(began.Add(-clockSkew)))
}

// Gone reports whether err means that a place or a source has disappeared, so
// that what is remembered of places is worth nothing.
func Gone(err error) bool { return placement.Stale(err) }
