// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

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
	mode, grace := deleteMode(req)
	if info, busy := p.ops.Running(key); busy {
		if interruptible(info, mode) {
			p.ops.Cancel(key)
		}
		return provider.ErrReconcileInProgress
	}
	uuid, owner := instanceUUID(req), ownerOf(req)
	vm, state := p.inventory.Find(req.VM.Status.UniqueID, uuid)
	switch {
	case state == inventory.Unknown:
		return p.unknown(key)
	case vm != nil && paused(vm, owner):
		return provider.ErrPaused
	}
	id := fingerprint("delete", req.VM.UID)
	if wait, err := p.attempts.pause(key, id); wait > 0 {
		return &provider.RequeueError{After: wait, Reason: "the last delete failed: " + err.Error()}
	}
	p.attempts.started(key, id)
	uid := req.VM.UID
	_, err := p.ops.Start(ctx, key, deletion(mode), func(ctx context.Context) error {
		if err := p.destroy(ctx, vm, uuid, owner, mode, grace); err != nil {
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

// interruptible is true for what a deletion need not wait for. A create is awaited:
// a deployment that is cancelled may be carried out all the same after everybody has
// looked away. A delete that asks the guest first ends when this is no longer wanted.
func interruptible(info operation.Info, mode vmv1alpha1.PowerOpMode) bool {
	switch info.Kind {
	case operation.Create:
		return false
	case operation.Delete:
		return mode == vmv1alpha1.PowerOpModeHard && info == deletion(vmv1alpha1.PowerOpModeTrySoft)
	}
	return true
}

// deletion describes a delete that powers off by mode.
func deletion(mode vmv1alpha1.PowerOpMode) operation.Info {
	return operation.Info{Kind: operation.Delete, Detail: string(mode)}
}

// takeGone reports whether the virtual machine is known to be gone.
func (p *Provider) takeGone(key types.NamespacedName, uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	got, ok := p.gone[key]
	delete(p.gone, key)
	return ok && got == uid
}

// destroy powers off and destroys the virtual machine of owner, if there is one.
// It decides by what vSphere says now: the record may be of before an outage, or
// of before somebody else took the VM over or paused it.
func (p *Provider) destroy(ctx context.Context, known *mo.VirtualMachine, uuid string, owner observe.Owner, mode vmv1alpha1.PowerOpMode, grace time.Duration) error {
	ref := vimtypes.ManagedObjectReference{}
	if known != nil {
		ref = known.Self
	} else if found, err := p.lookUp(ctx, uuid, owner); err != nil || found == nil {
		return err
	} else {
		ref = *found
	}
	vm, err := p.inventory.Refresh(ctx, ref)
	switch {
	case err != nil || vm == nil:
		return err
	case observe.OwnershipOf(vm, owner) != observe.Own:
		leave(ctx, ref, owner)
		return nil
	case paused(vm, owner):
		return provider.ErrPaused
	case vm.Runtime.PowerState == vimtypes.VirtualMachinePowerStatePoweredOn:
		if err := p.actor.PowerOff(ctx, vm.Self, mode, grace); err != nil {
			return err
		}
	}
	return p.actor.Destroy(ctx, vm.Self)
}

// leave says that a VM outlives the object that names it.
func leave(ctx context.Context, vm vimtypes.ManagedObjectReference, owner observe.Owner) {
	klog.FromContext(ctx).Info("The object names a vSphere VM that is not its own, which is left in place",
		"virtualMachine", klog.KRef(owner.Key.Namespace, owner.Key.Name), "vm", vm.Value)
}

// paused is true for a VM of owner that an administrator paused. Others hold no
// deletion up.
func paused(vm *mo.VirtualMachine, owner observe.Owner) bool {
	return observe.OwnershipOf(vm, owner) == observe.Own && observe.Of(vm, nil).Paused
}

// lookUp asks vSphere itself for the virtual machine of owner that the inventory
// does not have. One that is not its own stays out of the inventory too: what is
// there is worked on.
func (p *Provider) lookUp(ctx context.Context, uuid string, owner observe.Owner) (*vimtypes.ManagedObjectReference, error) {
	ref, whose, err := p.creator.LookUp(ctx, uuid, owner)
	if err != nil || ref == nil {
		return nil, err
	}
	if whose != observe.Own {
		leave(ctx, *ref, owner)
		return nil, nil
	}
	return ref, nil
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
