// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// newReconciliationFor returns a reconcile of vm on behalf of another object, and the state of that object. It returns
// an error if an operation of vm already runs.
func (e *Engine) newReconciliationFor(key provider.Key, uid types.UID, vm *vmv1alpha1.VirtualMachine, now time.Time) (*reconciliation, objectState, error) {
	own := e.stateOf(key, uid)
	p := e.newReconciliation(&provider.Request{VM: vm, Now: now})
	p.owner, p.ownerUID = key, uid
	switch run := p.state.running; {
	case run != nil && run.owner == key:
		return nil, own, provider.ErrReconcileInProgress
	case run != nil:
		return nil, own, fmt.Errorf("%w: %s", provider.ErrSourceBusy, run.op.Kind)
	}
	return p, own, nil
}

// startFor starts an operation for another object with the state own, unless the same operation has failed recently.
func (p *reconciliation) startFor(ctx context.Context, own objectState, op driver.Operation, again string) error {
	if hold := own.outcomes.HoldFor(op, p.req.Now); hold != nil {
		return errors.Join(hold.Err, &provider.RequeueError{After: hold.Wait, Reason: again})
	}
	if err := p.start(ctx, op); err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// markOwnerDeletedAfter returns op so that its success marks the other object's counterpart in the hypervisor as
// deleted.
func (p *reconciliation) markOwnerDeletedAfter(op driver.Operation) driver.Operation {
	run := op.Run
	op.Run = func(ctx context.Context) error {
		if err := run(ctx); err != nil {
			return err
		}
		p.engine.updateState(p.owner, p.ownerUID, func(r *objectState) { r.deleted = true })
		return nil
	}
	return op
}
