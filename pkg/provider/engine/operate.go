// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// start starts an operation of the reconcile, or returns an error if it cannot start now.
func (p *reconciliation) start(ctx context.Context, op driver.Operation) error {
	e := p.engine
	if err := e.opts.Permit(); err != nil {
		return &provider.RequeueError{Reason: err.Error()}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.states[p.key]
	if rec == nil {
		rec = &objectState{uid: p.uid()}
	}
	switch c := classOf(&op); {
	case e.closed:
		return context.Canceled
	case rec.running != nil || rec.uid != p.uid():
		return provider.ErrReconcileInProgress
	case c == "" || e.slots[c].acquire(p.owner, p.req.Priority, e.opts.Now()):
	case c == creates:
		return provider.ErrTooManyCreates
	default:
		return provider.ErrTooManyOperations
	}
	opCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(e.base, func() { cancel(context.Cause(e.base)) })
	rec.running = &running{owner: p.owner, uid: p.ownerUID, op: op, fingerprint: plan.Fingerprint(op), writesRecord: p.writesRecord, interrupt: cancel}
	e.states[p.key] = rec
	ended := make(chan error, 1)
	key, run := p.key, rec.running
	e.wg.Go(func() {
		defer cancel(nil)
		defer stop()
		began := time.Now()
		err := protect(opCtx, op)
		if e.opts.OnOperationEnd != nil {
			e.opts.OnOperationEnd(op.Kind, err, time.Since(began))
		}
		e.finishOperation(key, run, err)
		ended <- err
		close(ended)
		e.hints.Send(key)
		if run.owner != key {
			e.hints.Send(run.owner)
		}
	})
	p.Started, p.Ended = string(op.Kind), ended
	return nil
}

// protect runs an operation and converts a panic into an error.
func protect(ctx context.Context, op driver.Operation) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", op.Kind, p, debug.Stack())
		}
	}()
	return op.Run(ctx)
}

// finishOperation records the outcome of an operation and releases its slot.
func (e *Engine) finishOperation(key provider.Key, run *running, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.slots[classOf(&run.op)]; p != nil {
		e.wakeOffered(p.release(run.owner, e.opts.Now()))
	}
	rec := e.states[key]
	if rec == nil || rec.running != run {
		return
	}
	rec.running = nil
	if key.Kind == provider.KindImageLocation {
		e.recordImageResult(key.Name, run.op.Kind, err)
	}
	e.dropIfEmpty(key, rec)
	own := e.states[run.owner]
	if own == nil {
		own = &objectState{uid: run.uid}
		e.states[run.owner] = own
	}
	if own.uid == run.uid {
		own.recordOutcome(run, err, e.driver.Classify(err), e.opts.Now())
	}
	e.dropIfEmpty(run.owner, own)
}

// recordOutcome records the outcome of an operation. An interrupted operation has no outcome, because
// the desired state has changed. Checks and successful searches store their own results.
func (r *objectState) recordOutcome(run *running, err error, failure driver.Failure, now time.Time) {
	kind := run.op.Kind
	switch {
	case kind == driver.KindCheck, kind == driver.KindSearch && err == nil:
		return
	case err != nil && failure == driver.Interrupted:
		return
	}
	if run.writesRecord && err == nil {
		r.recordedAt = now
	}
	r.outcomes = r.outcomes.WithOutcome(kind, run.fingerprint, err, failure, now)
}

// interrupt interrupts run if it is still the operation of key.
func (e *Engine) interrupt(key provider.Key, run *running) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.states[key]; rec != nil && rec.running == run {
		run.interrupt(context.Canceled)
	}
}

// returnUnusedOffers ends a reconcile. An offered slot that it did not use goes to the next object.
func (e *Engine) returnUnusedOffers(key provider.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.slots {
		e.wakeOffered(p.returnOffer(key, e.opts.Now()))
	}
}

// wakeOffered sends an event to the objects to which slots were offered. The caller holds the lock.
func (e *Engine) wakeOffered(keys []provider.Key) {
	if e.closed || len(keys) == 0 {
		return
	}
	for _, k := range keys {
		e.hints.Send(k)
	}
	if e.expiry != nil {
		e.expiry.Stop()
	}
	e.expiry = time.AfterFunc(e.opts.OfferTimeout, e.expireOffers)
}

// expireOffers removes offers that were not used in time and offers the slots to others. An object may have been
// deleted or paused since it received the offer, and there may be no other operation whose end would offer the slot.
func (e *Engine) expireOffers() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.slots {
		e.wakeOffered(p.offerFree(e.opts.Now()))
	}
}

// shutdown rejects new operations and interrupts copies of images with cause. It waits for the other operations until
// ctx is done. Then it leaves them to the hypervisor, and returns when all have ended.
func (e *Engine) shutdown(ctx context.Context, cause error) {
	e.mu.Lock()
	e.closed = true
	e.interruptImages(cause)
	if e.expiry != nil {
		e.expiry.Stop()
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	e.end(driver.ErrLeave)
	<-done
}

// isRefused reports whether no slot was free for an operation.
func isRefused(err error) bool {
	return errors.Is(err, provider.ErrTooManyCreates) || errors.Is(err, provider.ErrTooManyOperations)
}

// uid returns the UID of the object whose state the reconcile uses.
func (p *reconciliation) uid() types.UID { return p.state.uid }
