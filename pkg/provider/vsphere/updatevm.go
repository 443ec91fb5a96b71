// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
)

// update handles a virtual machine that vSphere has. One without owner is found
// only if the object names it; the configuration that comes first gives it one.
func (p *Provider) update(ctx context.Context, key types.NamespacedName, req *provider.Request, vm *mo.VirtualMachine) (<-chan error, error) {
	if observe.OwnershipOf(vm, ownerOf(req)) == observe.Foreign {
		return nil, refuse(req)
	}
	p.applyReport(key, req)
	in := p.input(req, vm)
	if info, busy := p.ops.Running(key); busy {
		req.VM.Status = update.Status(in)
		if outdated(info, req.VM) {
			p.ops.Cancel(key)
		}
		return nil, provider.ErrReconcileInProgress
	}
	if observe.Pending(vm) && in.Facts.PowerState == vmv1alpha1.PoweredOff {
		return p.startAnew(ctx, key, req)
	}
	if in.Facts.Paused {
		req.VM.Status = update.Status(in)
		return nil, provider.ErrPaused
	}
	if names := placement.NetworkNames(req.Effective); len(in.Want.Backings) < len(names) {
		if ch, err := p.check(ctx, key, req, true); ch != nil || err != nil {
			req.VM.Status = update.Status(in)
			return ch, err
		}
		in.NetworkUnknown = true
	} else {
		p.forgetTold(key)
		networkKnown(req)
	}
	st, op, err := update.Plan(in)
	if in.ConfigHeld = p.held(key, req, op); in.ConfigHeld != nil {
		st, op, err = update.Plan(in)
	}
	req.VM.Status = st
	if op == nil {
		if in.NetworkUnknown {
			err = errors.Join(err, p.lookAgain(key, req.Now))
		}
		return nil, err
	}
	return p.start(ctx, key, req, vm.Self, op)
}

// input is what the next step of a virtual machine is decided by.
func (p *Provider) input(req *provider.Request, vm *mo.VirtualMachine) update.Input {
	in := update.Input{
		VM: req.VM, Effective: req.Effective, Observed: vm,
		Facts: observe.Of(vm, p.inventory.HostName), Want: p.want(req), Now: req.Now,
	}
	in.Want.Backings, _ = p.places.KnownBackings(placement.NetworkNames(req.Effective))
	in.Want.HostMHz = p.inventory.HostMHz(vm.Runtime.Host)
	return in
}

// startAnew removes a VM that an interrupted create left without its bootstrap,
// which was never powered on: the data for it is gathered for creates only.
func (p *Provider) startAnew(ctx context.Context, key types.NamespacedName, req *provider.Request) (<-chan error, error) {
	want := p.want(req)
	notCreated(req, vmv1alpha1.ReasonCreating, "what an interrupted create has left is removed")
	return p.ops.Start(ctx, key, operation.Info{Kind: operation.Delete}, func(ctx context.Context) error {
		p.creator.CleanUp(ctx, want)
		return nil
	})
}

// networkKnown ends a failure to find a network that was reported earlier.
func networkKnown(req *provider.Request) {
	kind := vmv1alpha1.ConditionNetworkReady
	if c := meta.FindStatusCondition(req.VM.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
		condition(req, kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
}

// held returns the failure of a planned reconfiguration that is not due again yet.
func (p *Provider) held(key types.NamespacedName, req *provider.Request, op *update.Operation) *provider.RequeueError {
	if op == nil || op.Kind != operation.Reconfigure {
		return nil
	}
	wait, err := p.attempts.pause(key, fingerprintOf(req, op))
	if wait <= 0 {
		return nil
	}
	return &provider.RequeueError{After: wait, Reason: err.Error()}
}

// start starts the planned operation, unless it failed a moment ago.
func (p *Provider) start(ctx context.Context, key types.NamespacedName, req *provider.Request, ref vimtypes.ManagedObjectReference, op *update.Operation) (<-chan error, error) {
	id := fingerprintOf(req, op)
	if wait, err := p.attempts.pause(key, id); wait > 0 {
		condition(req, vmv1alpha1.ConditionPowerStateSynced, metav1.ConditionFalse, vmv1alpha1.ReasonError, err.Error())
		return nil, &provider.RequeueError{After: wait, Reason: "the last attempt to " + string(op.Kind) + " failed: " + err.Error()}
	}
	p.attempts.started(key, id)
	return p.ops.Start(ctx, key, operation.Info{Kind: op.Kind, Detail: string(op.Mode)}, func(ctx context.Context) error {
		return p.execute(ctx, ref, op)
	})
}

// fingerprintOf identifies what a planned operation would do.
func fingerprintOf(req *provider.Request, op *update.Operation) string {
	return fingerprint(op.Kind, op.Mode, op.Upgrade, op.Spec, req.VM.Spec.NextRestartTime)
}

// execute carries out an operation.
func (p *Provider) execute(ctx context.Context, ref vimtypes.ManagedObjectReference, op *update.Operation) error {
	switch op.Kind {
	case operation.Reconfigure:
		return p.configure(ctx, ref, op)
	case operation.PowerOn:
		return p.actor.PowerOn(ctx, ref)
	case operation.PowerOff:
		return p.actor.PowerOff(ctx, ref, op.Mode, op.GracePeriod)
	case operation.Suspend:
		return p.actor.Suspend(ctx, ref, op.Mode, op.GracePeriod)
	}
	return p.restart(ctx, ref, op)
}

func (p *Provider) configure(ctx context.Context, ref vimtypes.ManagedObjectReference, op *update.Operation) error {
	if op.Upgrade != "" {
		if err := p.actor.Upgrade(ctx, ref, op.Upgrade); err != nil {
			return err
		}
	}
	if op.Spec == nil {
		return nil
	}
	spec := *op.Spec
	spec.ChangeVersion = op.Version
	return p.actor.Reconfigure(ctx, ref, spec)
}
