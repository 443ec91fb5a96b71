// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

var _ provider.ImageOperator = (*Engine)(nil)

func imageKey(location string) provider.Key {
	return provider.Key{Kind: provider.KindImageLocation, NamespacedName: types.NamespacedName{Name: location}}
}

// ImageOperations implements provider.ImageOperator.
func (e *Engine) ImageOperations() map[string]provider.ImageOperation {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]provider.ImageOperation, len(e.images))
	for location, op := range e.images {
		all[location] = *op
	}
	return all
}

// StartImageOperation implements provider.ImageOperator.
func (e *Engine) StartImageOperation(ctx context.Context, location string, op provider.ImageOperation) error {
	key := imageKey(location)
	defer e.returnUnusedOffers(key)
	own := e.stateOf(key, "")
	e.mu.Lock()
	if e.images[location] != nil {
		e.mu.Unlock()
		return provider.ErrReconcileInProgress
	}
	e.images[location] = &op
	e.mu.Unlock()
	p := &reconciliation{engine: e, req: &provider.Request{Now: e.opts.Now()}, key: key, state: own, owner: key}
	err := p.startFor(ctx, own, driver.Operation{Kind: driver.Kind(op.Kind), Detail: op.Detail, Run: func(ctx context.Context) error {
		files, err := op.Run(ctx, func(percent int32) { e.imageProgress(key, percent) })
		e.changeImage(location, func(op *provider.ImageOperation) { op.Files = files })
		return err
	}}, "the operation is retried")
	if errors.Is(err, provider.ErrReconcileInProgress) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.images, location)
	return err
}

// EndImageOperation implements provider.ImageOperator.
func (e *Engine) EndImageOperation(location string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	op, rec := e.images[location], e.states[imageKey(location)]
	switch {
	case op == nil:
	case !op.Ended:
		rec.running.interrupt(context.Canceled)
	default:
		delete(e.images, location)
		if op.Err == nil && rec != nil {
			rec.outcomes = nil
			e.dropIfEmpty(imageKey(location), rec)
		}
	}
}

func (e *Engine) changeImage(location string, f func(*provider.ImageOperation)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.images[location])
}

// imageProgress records the progress of an operation in steps.
func (e *Engine) imageProgress(key provider.Key, percent int32) {
	e.changeImage(key.Name, func(op *provider.ImageOperation) {
		if percent = percent / progressStep * progressStep; percent > op.Progress {
			op.Progress = percent
			e.hints.Send(key)
		}
	})
}

// recordImageResult records the outcome of an operation on copies of images. After a removal, copies that failed
// because of missing space are retried. The caller holds the lock.
func (e *Engine) recordImageResult(location string, kind driver.Kind, err error) {
	op := e.images[location]
	op.Ended, op.Err = true, err
	if kind != driver.KindRemoveImage || err != nil {
		return
	}
	for key, rec := range e.states {
		noRoom := func(o plan.Outcome) bool { return errors.Is(o.Err, provider.ErrNoSpace) }
		if key.Kind == provider.KindImageLocation && slices.ContainsFunc(rec.outcomes, noRoom) {
			rec.outcomes = nil
			e.dropIfEmpty(key, rec)
			e.hints.Send(key)
		}
	}
}

// interruptImages interrupts the operations on copies of images, because an incomplete copy cannot be used.
func (e *Engine) interruptImages(cause error) {
	for location := range e.images {
		if rec := e.states[imageKey(location)]; rec != nil && rec.running != nil {
			rec.running.interrupt(cause)
		}
	}
}
