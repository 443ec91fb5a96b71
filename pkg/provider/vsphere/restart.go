// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// takeBackTimeout bounds the removal of the record of a restart that was refused.
const takeBackTimeout = 30 * time.Second

// restart restarts, by a power cycle if something waits for one.
func (p *Provider) restart(ctx context.Context, ref vimtypes.ManagedObjectReference, op *update.Operation) error {
	if op.Spec == nil && op.Upgrade == "" {
		return p.reboot(ctx, ref, op)
	}
	// Each step leaves a VM from which the plan goes on: one that is off and shall
	// run is powered on, and that counts as the restart.
	if err := p.actor.PowerOff(ctx, ref, op.Mode, op.GracePeriod); err != nil {
		return err
	}
	if err := p.configure(ctx, ref, op); err != nil {
		return err
	}
	if err := p.actor.Reconfigure(ctx, ref, *op.Record); err != nil {
		return err
	}
	return p.actor.PowerOn(ctx, ref)
}

// reboot restarts the guest at most once for each request. vSphere cannot be asked
// afterwards whether it did: runtime.bootTime is that of the last power on, which
// neither a reset nor a reboot of the guest changes, and neither changes anything
// else that lasts. So the restart is recorded in the VM first. Who dies in between
// leaves a restart that was not done, which its user can ask for again; recorded
// afterwards, a guest in use would be restarted twice. Only when vSphere has
// answered that it did not restart is the record taken back, and then the restart
// is tried again.
func (p *Provider) reboot(ctx context.Context, ref vimtypes.ManagedObjectReference, op *update.Operation) error {
	if err := p.actor.Reconfigure(ctx, ref, *op.Record); err != nil {
		return err
	}
	err := p.actor.Reboot(ctx, ref, op.Mode)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !vimfault.Refused(err):
		klog.FromContext(ctx).Error(err, "It is not known whether the guest was restarted; it is not tried again", "vm", ref.Value)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTimeout)
	defer cancel()
	if undo := p.actor.Reconfigure(ctx, ref, *op.TakeBack); undo != nil {
		return fmt.Errorf("%w; it is not tried again, for the record of it could not be removed: %w", err, undo)
	}
	return err
}

// outdated is true for an operation that waits for the guest although this is
// no longer what is wanted.
func outdated(info operation.Info, vm *vmv1alpha1.VirtualMachine) bool {
	if info.Detail == string(vmv1alpha1.PowerOpModeHard) {
		return false // It waits for vSphere only.
	}
	desired := vm.Spec.PowerState
	if desired == "" {
		desired = vmv1alpha1.PoweredOn
	}
	switch info.Kind {
	case operation.PowerOff:
		return desired != vmv1alpha1.PoweredOff || vm.Spec.PowerOffMode == vmv1alpha1.PowerOpModeHard
	case operation.Suspend:
		return desired != vmv1alpha1.Suspended || vm.Spec.SuspendMode == vmv1alpha1.PowerOpModeHard
	case operation.Restart:
		return desired != vmv1alpha1.PoweredOn || vm.Spec.RestartMode == vmv1alpha1.PowerOpModeHard
	}
	return false
}
