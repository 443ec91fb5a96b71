// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

var _ provider.Provider = (*Fleet[Member])(nil)

// CreateOrUpdateVirtualMachine implements provider.Provider.
func (f *Fleet[M]) CreateOrUpdateVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	if provider.ZoneOf(req.VM) == "" {
		return f.placer.Place(ctx, req)
	}
	return f.call(req, func(m M) (provider.Result, error) { return m.CreateOrUpdateVirtualMachine(ctx, req) })
}

// CreateOrUpdateVirtualMachineAsync implements provider.Provider.
func (f *Fleet[M]) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (provider.Result, error) {
	if provider.ZoneOf(req.VM) == "" {
		return f.placer.Place(ctx, req)
	}
	f.placer.ObserveVM(req.VM, req.Now)
	return f.call(req, func(m M) (provider.Result, error) { return m.CreateOrUpdateVirtualMachineAsync(ctx, req) })
}

// DeleteVirtualMachine implements provider.Provider. A virtual machine without a zone was never created, unless it was
// created before zones existed. In that case it is searched for in the default zone, if that exists.
func (f *Fleet[M]) DeleteVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	if provider.ZoneOf(req.VM) == "" && f.vcenterOf(req.VM) == "" {
		return provider.Result{}, nil
	}
	return f.call(req, func(m M) (provider.Result, error) { return m.DeleteVirtualMachine(ctx, req) })
}

// ReportVirtualMachine implements provider.Provider.
func (f *Fleet[M]) ReportVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	if provider.ZoneOf(req.VM) == "" && f.vcenterOf(req.VM) == "" {
		return provider.Result{}, nil
	}
	return f.call(req, func(m M) (provider.Result, error) { return m.ReportVirtualMachine(ctx, req) })
}

// call calls the member of the virtual machine. The virtual machine is added to unsettled before the call, because a
// member that is being stopped fails the call and the virtual machine must then wait for the next member.
func (f *Fleet[M]) call(req *provider.Request, call func(M) (provider.Result, error)) (r provider.Result, err error) {
	name, key := f.vcenterOf(req.VM), provider.KeyOf(req.VM)
	if name == "" {
		err := fmt.Errorf("%w: Zone %q does not exist", provider.ErrUnknownState, provider.ZoneOf(req.VM))
		r.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		return r, err
	}
	f.mu.Lock()
	b := f.slot(name)
	b.unsettled[key] = nil
	known, hasMember, member := b.isKnown, b.hasMember, b.member
	f.mu.Unlock()
	switch {
	case !known:
		return r, provider.ErrUnknownState
	case !hasMember:
		err := fmt.Errorf("%w: VCenter %q does not exist", provider.ErrUnknownState, name)
		r.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		return r, err
	}
	if r, err = call(member); err == nil {
		f.mu.Lock()
		delete(f.slot(name).unsettled, key)
		f.mu.Unlock()
	}
	return r, err
}

// Forget implements provider.Provider.
func (f *Fleet[M]) Forget(key types.NamespacedName) {
	f.mu.Lock()
	for _, b := range f.slots {
		delete(b.unsettled, provider.VirtualMachineKey(key))
	}
	f.mu.Unlock()
	f.placer.Forget(provider.VirtualMachineKey(key))
	members, _ := f.Members()
	for _, m := range members {
		m.Forget(key)
	}
}

// IsUnread implements provider.Provider.
func (f *Fleet[M]) IsUnread(vm *vmv1alpha1.VirtualMachine) bool {
	name := f.vcenterOf(vm)
	if name == "" {
		return false
	}
	f.mu.Lock()
	b, key := f.slot(name), provider.KeyOf(vm)
	known, hasMember, member := b.isKnown, b.hasMember, b.member
	if _, isUnsettled := b.unsettled[key]; !known && !isUnsettled {
		b.unsettled[key] = vm
	}
	f.mu.Unlock()
	return !known || hasMember && member.IsUnread(vm)
}

// Watch implements provider.Provider.
func (f *Fleet[M]) Watch(ctx context.Context, changed func(provider.Event)) {
	f.hints.Watch(ctx, changed)
}

// Healthy implements provider.Provider.
func (f *Fleet[M]) Healthy(ctx context.Context) error {
	members, _ := f.Members()
	var errs []error
	for name, m := range members {
		if err := m.Healthy(ctx); err != nil {
			errs = append(errs, fmt.Errorf("vCenter %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
