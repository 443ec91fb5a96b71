// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// DeleteVirtualMachine implements provider.Provider.
func (p *Provider) DeleteVirtualMachine(ctx context.Context, req *provider.Request) error {
	key := keyOf(req)
	p.ops.Forget(key)
	if p.takeGone(key, req.VM.UID) {
		p.attempts.forget(key)
		p.forgetReport(key)
		return nil
	}
	if info, busy := p.ops.Running(key); busy {
		if interruptible(info.Kind) {
			p.ops.Cancel(key)
		}
		return provider.ErrReconcileInProgress
	}
	uuid := instanceUUID(req)
	vm, state := p.inventory.Find(req.VM.Status.UniqueID, uuid)
	switch {
	case state == inventory.Unknown:
		return p.unknown(key)
	case vm != nil && observe.Of(vm, nil).Paused:
		return provider.ErrPaused
	}
	id := fingerprint("delete", req.VM.UID)
	if wait, err := p.attempts.pause(key, id); wait > 0 {
		return &provider.RequeueError{After: wait, Reason: "the last delete failed: " + err.Error()}
	}
	p.attempts.started(key, id)
	uid := req.VM.UID
	mode, grace := deleteMode(req)
	_, err := p.ops.Start(ctx, key, operation.Info{Kind: operation.Delete}, func(ctx context.Context) error {
		if err := p.destroy(ctx, vm, uuid, uid, mode, grace); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gone[key] = uid
		return nil
	})
	if err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// Forget implements provider.Provider.
func (p *Provider) Forget(key types.NamespacedName) {
	p.ops.Forget(key)
	p.attempts.forget(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reports, key)
	delete(p.gone, key)
	delete(p.pending, key)
}

// interruptible is false for a delete, and for a create: a deployment that is
// cancelled may be carried out all the same after everybody has looked away, so
// that its end is awaited, and then its VM is deleted.
func interruptible(kind operation.Kind) bool {
	return kind != operation.Delete && kind != operation.Create
}

// takeGone reports whether the virtual machine is known to be gone.
func (p *Provider) takeGone(key types.NamespacedName, uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	got, ok := p.gone[key]
	delete(p.gone, key)
	return ok && got == uid
}

// destroy powers off and destroys the virtual machine of uid, if there is one.
func (p *Provider) destroy(ctx context.Context, vm *mo.VirtualMachine, uuid string, uid types.UID, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	if vm == nil {
		var err error
		if vm, err = p.lookUp(ctx, uuid); err != nil {
			return err
		}
	}
	if vm == nil {
		return nil
	}
	if o, ok := observe.OwnerOf(vm); ok && o.UID != string(uid) {
		return nil // It belongs to another object.
	}
	if vm.Runtime.PowerState == vimtypes.VirtualMachinePowerStatePoweredOn {
		if err := p.actor.PowerOff(ctx, vm.Self, mode, grace); err != nil {
			return err
		}
	}
	return p.actor.Destroy(ctx, vm.Self)
}

// lookUp asks vSphere itself for what the inventory does not have.
func (p *Provider) lookUp(ctx context.Context, uuid string) (*mo.VirtualMachine, error) {
	c, err := p.session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	byInstance := true
	ref, err := object.NewSearchIndex(c).FindByUuid(ctx, nil, uuid, true, &byInstance)
	if err != nil {
		return nil, fmt.Errorf("looking for instance UUID %s: %w", uuid, err)
	}
	if ref == nil {
		return nil, nil
	}
	return p.inventory.Refresh(ctx, ref.Reference())
}

// deleteMode is how a virtual machine that is being deleted is powered off: a
// guest that does not answer must not keep it for ever, so that Soft becomes
// TrySoft.
func deleteMode(req *provider.Request) (vmv1alpha1.PowerOpMode, time.Duration) {
	mode := req.VM.Spec.PowerOffMode
	if mode != vmv1alpha1.PowerOpModeHard {
		mode = vmv1alpha1.PowerOpModeTrySoft
	}
	if req.Effective != nil && req.Effective.TerminationGracePeriodSeconds != nil {
		return mode, time.Duration(*req.Effective.TerminationGracePeriodSeconds) * time.Second
	}
	return mode, 0
}
