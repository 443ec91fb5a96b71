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

// cleanupTimeout limits the removal of the VM that a failed create has left.
const cleanupTimeout = time.Minute

// Creator creates vSphere VMs.
type Creator struct {
	// Actor performs the individual operations on a VM.
	Actor *action.Actor
	// Placement resolves the folder of the namespace.
	Placement *placement.Resolver
	// Descriptors reads the descriptors of library items.
	Descriptors *descriptor.Reader
}

// Create creates the object's VM, or finds it if it exists. It creates the VM from rep.Source, or from the files in
// fast if that is not nil, at the location in rep. It returns when the inventory has the VM. A new VM has the mark
// of this attempt until it is complete.
func (c *Creator) Create(ctx context.Context, want configspec.Desired, rep *placement.Report, fast *CachedImage) error {
	found, err := c.find(ctx, want)
	if err != nil || found {
		return err
	}
	folder, err := c.Placement.NamespaceFolder(ctx, want.Owner().Key.Namespace)
	if err != nil {
		return err
	}
	if other := c.Actor.Inventory.Child(folder, want.Name); other != nil {
		return &ConflictError{Message: fmt.Sprintf("the vSphere VM %s (%s) has the inventory path of this virtual machine and another instance UUID",
			other.Name, other.Self.Value)}
	}
	want.NetworkBackings, want.Attempt = rep.Backings, rand.Text()
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
		if isFinal(err) {
			c.cleanUp(ctx, want, began)
		}
		return configspec.ErrorWithFields(err, spec, diffs)
	}
	vm, err := c.Actor.WaitForConfig(ctx, ref)
	if err != nil {
		return err
	}
	return c.complete(ctx, want, vm)
}

// Complete finishes the creation of a VM that has the mark of an attempt.
func (c *Creator) Complete(ctx context.Context, want configspec.Desired, ref types.ManagedObjectReference) error {
	vm, err := c.Actor.Inventory.Refresh(ctx, ref)
	switch {
	case err != nil:
		return err
	case !observe.IsReadable(vm) || !observe.IsPending(vm) || observe.OwnershipOf(vm, want.Owner()) != driver.Own:
		return &vimfault.ChangedError{Message: fmt.Sprintf("the vSphere VM %s has changed", ref.Value)}
	}
	return c.complete(ctx, want, vm)
}

// complete applies the settings that vSphere did not apply from the create request. Among them can be the
// VM's identity (owner and instance UUID). Without it the next reconcile would not find the VM.
func (c *Creator) complete(ctx context.Context, want configspec.Desired, vm *mo.VirtualMachine) error {
	if vm == nil || vm.Config == nil {
		return errors.New("the new vSphere VM cannot be read")
	}
	want.New, want.HostMHz = true, c.Actor.Inventory.HostMHz(vm.Runtime.Host)
	custom, path := configspec.Customization(want)
	want.Bootstrapped = custom == nil && !configspec.NeedsAdapters(want, vm)
	if err := c.reconfigure(ctx, want, vm); err != nil || want.Bootstrapped {
		return err
	}
	// Guest data contains the adapters' addresses, so the adapters are configured first.
	if custom != nil {
		if err := c.Actor.Customize(ctx, vm.Self, *custom); err != nil {
			return fmt.Errorf("%s: %w", configspec.FieldName(path), err)
		}
	}
	want.Bootstrapped = true
	return c.reconfigure(ctx, want, c.Actor.Inventory.Get(vm.Self))
}

func (c *Creator) reconfigure(ctx context.Context, want configspec.Desired, vm *mo.VirtualMachine) error {
	if vm == nil {
		return errors.New("the new vSphere VM was not found")
	}
	diffs := configspec.Differences(want, vm)
	if len(diffs) == 0 || configspec.NeedNoReconfigure(diffs) {
		return nil
	}
	spec := configspec.Spec(diffs)
	return configspec.ErrorWithFields(c.Actor.Reconfigure(ctx, vm.Self, spec), spec, diffs)
}

// isFinal reports whether vSphere has ended the create request with a failure. A partly created VM may remain. After
// other errors the VM may exist or may still be created: the response was lost, this process is stopping, or the
// request of a process that stopped has just completed. The next reconcile finds such a VM.
func isFinal(err error) bool {
	switch vimfault.KindOf(err) {
	case vimfault.Temporary, vimfault.AlreadyExists, vimfault.Cancelled:
		return false
	default:
		return true
	}
}

// cleanUp removes what remains of the VM of an attempt that vSphere has reported as failed.
func (c *Creator) cleanUp(ctx context.Context, want configspec.Desired, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.removeLeftover(ctx, want, began); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove the VM of a failed create attempt", "instanceUUID", want.Identity.InstanceUUID)
	}
}

func (c *Creator) removeLeftover(ctx context.Context, want configspec.Desired, began time.Time) error {
	seen, err := c.LookUp(ctx, inventory.Identifiers{InstanceUUID: want.Identity.InstanceUUID}, want.Owner())
	if err != nil || seen.VM == nil {
		return err
	}
	vm, err := c.read(ctx, *seen.VM, "config.createDate", "runtime.powerState", "runtime.bootTime")
	if err != nil || vm == nil {
		return err
	}
	if !isCreatedBy(vm, want.Attempt, began) {
		klog.FromContext(ctx).Info("Keeping a vSphere VM with the instance UUID of a failed create, because this attempt did not create it",
			"vm", seen.VM.Value, "instanceUUID", want.Identity.InstanceUUID)
		return nil
	}
	return c.Actor.Destroy(ctx, *seen.VM)
}

// clockSkew is the maximum difference between the clocks of vCenter and this process.
const clockSkew = session.SkewTolerance

// checkClock returns an error if the clocks differ by more than clockSkew. The times of tasks are not comparable
// then.
func (c *Creator) checkClock(ctx context.Context) error {
	skew, err := c.Actor.Session.MeasureSkew(ctx)
	if err == nil && skew.Abs() > clockSkew {
		err = &vimfault.BusyError{Message: fmt.Sprintf("waiting for the clocks to be synchronized: %s; the maximum difference is %s, because Slipway compares the times of vCenter's tasks",
			session.DescribeSkew(skew), clockSkew)}
	}
	return err
}

// isCreatedBy reports whether the attempt created the VM and the VM was not used since. Such a VM has the attempt's
// mark, is powered off and is not older than the attempt.
func isCreatedBy(vm *mo.VirtualMachine, attempt string, began time.Time) bool {
	return attempt != "" && observe.ExtraConfig(vm, observe.PendingKey) == attempt &&
		vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff && vm.Runtime.BootTime == nil &&
		(vm.Config.CreateDate == nil || !vm.Config.CreateDate.Before(began.Add(-clockSkew)))
}

// IsStale reports whether err means that a location or a source was deleted, so that cached locations are invalid.
func IsStale(err error) bool { return placement.IsStale(err) }
