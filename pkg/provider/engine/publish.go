// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

var _ provider.Publisher = (*Engine)(nil)

// Publish implements provider.Publisher. The operation belongs to the virtual machine, so that no other operation
// changes it in the meantime. The slot and the outcome belong to the request.
func (e *Engine) Publish(ctx context.Context, pub *provider.PublishRequest) (*provider.Published, error) {
	defer e.returnUnusedOffers(pub.Key())
	if own := e.stateOf(pub.Key(), pub.UID); own.published != nil {
		return own.published, nil
	}
	p, own, err := e.newReconciliationFor(pub.Key(), pub.UID, pub.VM, pub.Now)
	if err != nil {
		return nil, err
	}
	op, err := p.publish(e.driver.Observe(p.desired.Identity), pub)
	if err != nil {
		return nil, err
	}
	return nil, p.startFor(ctx, own, op, "publishing is retried")
}

// publish returns the operation, or an error if the virtual machine cannot be published.
func (p *reconciliation) publish(s driver.Observed, pub *provider.PublishRequest) (driver.Operation, error) {
	refuse := func(reason, what string) error {
		return &provider.PublishRefusedError{
			Condition: vmv1alpha1.ConditionSourceValid, Reason: reason, Message: fmt.Sprintf("VirtualMachine %q %s", pub.Source.Name, what),
		}
	}
	observed, err := p.observeUsable(s, refuse)
	switch {
	case err != nil:
		return driver.Operation{}, err
	case observed.PowerState != vmv1alpha1.PoweredOff:
		return driver.Operation{}, refuse(vmv1alpha1.ReasonNotReady, fmt.Sprintf("is %s and must be PoweredOff to be published", observed.PowerState))
	}
	withoutVM := *pub
	withoutVM.VM = nil
	e := p.engine
	return s.Machine.Publish(p.desired.Identity, withoutVM, func(made provider.Published) {
		e.updateState(withoutVM.Key(), withoutVM.UID, func(r *objectState) { r.published = &made })
	})
}

// CancelPublication implements provider.Publisher.
func (e *Engine) CancelPublication(ctx context.Context, pub *provider.PublishRequest) error {
	key, source := pub.Key(), provider.VirtualMachineKey(pub.Source)
	own := e.stateOf(key, pub.UID)
	if own.deleted {
		e.forget(key)
		return nil
	}
	if own.running != nil {
		return provider.ErrReconcileInProgress
	}
	if run := e.runningOf(source); run != nil && run.owner == key {
		e.interrupt(source, run)
		return provider.ErrReconcileInProgress
	}
	p := &reconciliation{engine: e, req: &provider.Request{Now: pub.Now}, key: key, state: own, owner: key, ownerUID: pub.UID}
	withoutVM := *pub
	withoutVM.VM = nil
	return p.startFor(ctx, own, p.markDeletedAfter(e.driver.CancelPublication(withoutVM)), "the search for a partly created item is retried")
}

// runningOf returns the running operation of an object, for any UID.
func (e *Engine) runningOf(key provider.Key) *running {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.states[key]; rec != nil {
		return rec.running
	}
	return nil
}

// ForgetPublication implements provider.Publisher.
func (e *Engine) ForgetPublication(key types.NamespacedName) {
	e.forget(provider.Key{Kind: provider.KindPublishRequest, NamespacedName: key})
}
