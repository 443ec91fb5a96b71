// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/action"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/publish"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Complete implements driver.Machine.
func (m machine) Complete(w *driver.Desired) driver.Operation {
	want := m.driver.desiredSpec(w)
	return driver.Operation{Kind: driver.KindCreate, Run: func(ctx context.Context) error {
		rep := m.driver.resolver(w.Identity.Zone).Check(ctx, w, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionStorageReady)
		if err := rep.Err(); err != nil {
			return err
		}
		want.Backings, want.Storage, want.ISOs = rep.Backings, rep.Storage, rep.ISOs
		err := m.driver.newCreator(w.Identity.Zone).Complete(ctx, want, m.ref())
		if create.IsStale(err) {
			m.driver.invalidate()
		}
		return err
	}}
}

// Configure implements driver.Machine. Setting a value twice is harmless, but adding a device twice
// adds two devices. vSphere must therefore refuse device changes if the configuration has changed
// since it was read.
func (m machine) Configure(diffs []driver.Difference) driver.Operation {
	own := ownChanges(diffs)
	version := ""
	if configspec.Upgrade(own) == "" && len(configspec.Spec(own).DeviceChange) > 0 {
		version = m.vm.Config.ChangeVersion
	}
	return driver.Operation{Kind: driver.KindReconfigure, Changes: diffs, Run: func(ctx context.Context) error {
		return m.configure(ctx, own, version)
	}}
}

func (m machine) configure(ctx context.Context, diffs []configspec.Difference, version string) error {
	if to := configspec.Upgrade(diffs); to != "" {
		if err := m.driver.actor.Upgrade(ctx, m.ref(), to); err != nil {
			return fmt.Errorf("%s: %w", configspec.Field(hardware.HardwareVersion), err)
		}
	}
	if !configspec.NeedNoReconfigure(diffs) {
		spec := configspec.Spec(diffs)
		spec.ChangeVersion = version
		if len(spec.DeviceChange) > 0 {
			if err := m.checkDevicesUnchanged(ctx); err != nil {
				return err
			}
		}
		err := m.driver.actor.Reconfigure(ctx, m.ref(), spec)
		if vimfault.IsInvalidBacking(err) {
			m.driver.invalidate() // A network was recreated and has another key.
		}
		if err != nil {
			return configspec.AddFields(err, spec, diffs)
		}
	}
	for _, c := range configspec.ClaimChanges(diffs) {
		if err := m.changeClaim(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// checkDevicesUnchanged reads the VM again. It returns an error if the devices, or the files of the disks,
// differ from those that the changes were computed from. A snapshot changes the files of the disks
// and not config.changeVersion, so vSphere would accept a change that specifies the previous files.
func (m machine) checkDevicesUnchanged(ctx context.Context) error {
	now, err := m.driver.inventory.Refresh(ctx, m.ref())
	if err != nil {
		return err
	}
	if !maps.Equal(observe.Devices(now), observe.Devices(m.vm)) {
		return &vimfault.ChangedError{Message: fmt.Sprintf("the devices of VM %s, or the files of its disks, have changed since they were read", m.ref().Value)}
	}
	return nil
}

// changeClaim changes one disk through the volume service.
func (m machine) changeClaim(ctx context.Context, c configspec.ClaimChange) error {
	switch {
	case c.Detach:
		return m.driver.actor.DetachVolume(ctx, m.ref(), c.ID)
	case c.Attach == nil:
		return m.driver.actor.ExtendVolume(ctx, m.ref(), c.ID, c.Extend)
	case !m.driver.acceptsDiskSlot():
		return m.driver.actor.AttachVolume(ctx, m.ref(), c.ID, nil)
	}
	// The preceding reconfiguration may have added the controller.
	for _, controller := range observe.Controllers(m.driver.inventory.Get(m.ref())) {
		if controller.Kind == c.Attach.Kind && controller.Bus == c.Attach.Bus {
			return m.driver.actor.AttachVolume(ctx, m.ref(), c.ID, &action.DiskSlot{ControllerKey: controller.Key, Unit: c.Attach.Unit, Shared: c.Attach.Shared})
		}
	}
	return &vimfault.ChangedError{Message: fmt.Sprintf("VM %s no longer has %s controller %d", m.ref().Value, c.Attach.Kind, c.Attach.Bus)}
}

// PowerOn implements driver.Machine.
func (m machine) PowerOn() driver.Operation {
	return driver.Operation{Kind: driver.KindPowerOn, Run: func(ctx context.Context) error {
		return m.driver.actor.PowerOn(ctx, m.ref())
	}}
}

// PowerOff implements driver.Machine.
func (m machine) PowerOff(mode vmv1alpha1.PowerOpMode, grace time.Duration) driver.Operation {
	return m.powerOperation(driver.KindPowerOff, mode, func(ctx context.Context) error {
		return m.driver.actor.PowerOff(ctx, m.ref(), mode, grace)
	})
}

// Suspend implements driver.Machine.
func (m machine) Suspend(mode vmv1alpha1.PowerOpMode, grace time.Duration) driver.Operation {
	return m.powerOperation(driver.KindSuspend, mode, func(ctx context.Context) error {
		return m.driver.actor.Suspend(ctx, m.ref(), mode, grace)
	})
}

func (m machine) powerOperation(kind driver.Kind, mode vmv1alpha1.PowerOpMode, run func(context.Context) error) driver.Operation {
	return driver.Operation{Kind: kind, Detail: string(mode), WaitsForGuest: mode != vmv1alpha1.PowerOpModeHard, Run: run}
}

// Restart implements driver.Machine.
func (m machine) Restart(r driver.Restart) driver.Operation {
	own := ownChanges(r.Changes)
	op := m.powerOperation(driver.KindRestart, r.Mode, func(ctx context.Context) error {
		if len(own) > 0 {
			return m.powerCycle(ctx, r, own)
		}
		return m.reboot(ctx, r)
	})
	op.Changes = r.Changes
	op.Detail += " " + r.Requested.UTC().Format(time.RFC3339Nano)
	return op
}

// powerCycle restarts the VM by a power cycle and changes its configuration in between. After each step
// the next reconcile can continue: a VM that is off and must run is powered on, which completes the
// restart. If vSphere refuses the changes, the VM restarts with its present configuration.
func (m machine) powerCycle(ctx context.Context, r driver.Restart, diffs []configspec.Difference) error {
	if err := m.driver.actor.PowerOff(ctx, m.ref(), r.Mode, r.GracePeriod); err != nil {
		return err
	}
	configErr := m.configure(ctx, diffs, "")
	if configErr != nil && (!vimfault.IsRefused(configErr) || m.driver.Classify(configErr) != driver.Refused) {
		return configErr // The failure is temporary, or the changes may have been applied.
	}
	if err := m.driver.actor.Reconfigure(ctx, m.ref(), configspec.RecordRestart(r.Requested)); err != nil {
		return errors.Join(configErr, err)
	}
	return errors.Join(configErr, m.driver.actor.PowerOn(ctx, m.ref()))
}

// removeRecordTimeout is the timeout for the removal of the record of a restart that vSphere refused.
const removeRecordTimeout = 30 * time.Second

// reboot restarts the guest at most once per request.
//
// vSphere does not report whether a guest was restarted: runtime.bootTime is the time of the last
// power on, and neither a reset nor a reboot changes any persistent property. The restart is
// therefore recorded in the VM before it is requested. If the process stops in between, the guest
// is not restarted and the user can request it again. If the restart were recorded afterwards, a
// guest in use could be restarted twice. The record is removed, and the restart retried, only if
// vSphere has responded that it did not restart the guest.
func (m machine) reboot(ctx context.Context, r driver.Restart) error {
	if err := m.driver.actor.Reconfigure(ctx, m.ref(), configspec.RecordRestart(r.Requested)); err != nil {
		return err
	}
	err := m.driver.actor.Reboot(ctx, m.ref(), r.Mode)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !vimfault.IsRefused(err):
		klog.FromContext(ctx).Error(err, "Cannot determine whether the guest was restarted; the restart is not retried", "vm", m.ref().Value)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeRecordTimeout)
	defer cancel()
	before := configspec.RecordRestartAs(observe.ExtraConfig(m.vm, observe.LastRestartKey))
	if undo := m.driver.actor.Reconfigure(ctx, m.ref(), before); undo != nil {
		return fmt.Errorf("%w; the restart is not retried, because its record could not be removed: %w", err, undo)
	}
	return err
}

// Promote implements driver.Machine.
func (m machine) Promote(progress func(int32)) driver.Operation {
	return driver.Operation{Kind: driver.KindPromote, Run: func(ctx context.Context) error {
		return m.driver.actor.Promote(ctx, m.ref(), progress)
	}}
}

// StopPromotion implements driver.Machine.
func (m machine) StopPromotion(ctx context.Context, err error) error {
	return m.driver.actor.StopPromotion(ctx, m.ref(), err)
}

// Destroy implements driver.Machine.
func (m machine) Destroy(id driver.Identity) driver.Operation {
	return driver.Operation{Kind: driver.KindDelete, Run: func(ctx context.Context) error {
		vm, err := m.refreshOwned(ctx, id)
		if err != nil || vm == nil {
			return err
		}
		if vm.Runtime.PowerState == vimtypes.VirtualMachinePowerStatePoweredOn {
			return &vimfault.ChangedError{Message: fmt.Sprintf("VM %s was powered on before its deletion", m.ref().Value)}
		}
		if err := m.driver.actor.Destroy(ctx, vm.Self); err != nil || !observe.IsLinked(vm) {
			return err
		}
		// Destroy has detached the disks to keep the image copies that they depend on.
		var home object.DatastorePath
		home.FromString(vm.Config.Files.VmPathName)
		return m.driver.newCreator(id.Zone).RemoveLeftovers(ctx, id.UID, home.Datastore)
	}}
}

// Publish implements driver.Machine.
func (m machine) Publish(id driver.Identity, pub provider.Publication, made func(provider.Published)) (driver.Operation, error) {
	if err := publish.CheckSource(m.vm); err != nil {
		return driver.Operation{}, err
	}
	return driver.Operation{Kind: driver.KindPublish, Run: func(ctx context.Context) error {
		done, err := m.driver.publisher.Publish(ctx, &pub, m.ref(), func(ctx context.Context) error {
			vm, err := m.refreshOwned(ctx, id)
			if err != nil {
				return err
			}
			return publish.CheckSource(vm)
		})
		if err == nil {
			m.driver.images.Changed(done.ItemID)
			made(done)
		}
		return err
	}}, nil
}

// Unregister implements driver.Machine.
func (m machine) Unregister(driver.Identity) driver.Operation {
	return driver.Operation{Kind: driver.KindDelete, Detail: "unregister", Run: func(ctx context.Context) error {
		return m.driver.actor.Unregister(ctx, m.ref())
	}}
}

// refreshOwned reads the VM again, because the inventory may be older than an outage, or another client
// may have adopted or paused the VM. It returns an error unless the object still owns the VM and
// the VM is not paused.
func (m machine) refreshOwned(ctx context.Context, id driver.Identity) (*mo.VirtualMachine, error) {
	vm, err := m.driver.inventory.Refresh(ctx, m.ref())
	switch {
	case err != nil:
		return nil, err
	case vm == nil:
		return nil, &vimfault.ChangedError{Message: fmt.Sprintf("vSphere no longer shows VM %s", m.ref().Value)}
	case !observe.IsReadable(vm):
		return nil, errors.New(observe.Trouble(vm))
	case observe.OwnershipOf(vm, ownerOf(id)) != driver.Own:
		return nil, create.Conflict(id.InstanceUUID)
	case observe.IsPaused(vm):
		return nil, provider.ErrPaused
	}
	return vm, nil
}
