// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// The circuit breaker trips if more than brakeCount virtual machines and more than one in brakeShare of the managed
// ones have disappeared within brakeWindow. The values are a judgement: an administrator deletes a few virtual machines
// manually, while the loss of a host, a folder or a permission affects more.
const (
	brakeCount  = 5
	brakeShare  = 20
	brakeWindow = time.Minute
)

// brake is the circuit breaker for mass disappearance. After it has tripped, it resets when only few virtual machines
// are missing. It has no lock and no clock. The zero value is ready to use.
type brake struct {
	since map[provider.Key]time.Time
	on    bool
}

func (b *brake) missed(key provider.Key, now time.Time) {
	if b.since == nil {
		b.since = map[provider.Key]time.Time{}
	}
	if _, ok := b.since[key]; !ok {
		b.since[key] = now
	}
}

// found records that a virtual machine exists, or is known to be deleted.
func (b *brake) found(key provider.Key) { delete(b.since, key) }

// pulled reports whether the breaker is tripped. managed is the number of visible virtual machines.
func (b *brake) pulled(now time.Time, managed int) bool {
	many := func(n int) bool { return n > brakeCount && n*brakeShare > managed+len(b.since) }
	if !many(len(b.since)) {
		b.on = false
		return false
	}
	if b.on {
		return true
	}
	recent := 0
	for _, since := range b.since {
		if now.Sub(since) < brakeWindow {
			recent++
		}
	}
	b.on = many(recent)
	return b.on
}

// Missing returns the number of missing virtual machines, and whether the circuit breaker for mass disappearance is
// tripped.
func (e *Engine) Missing() (machines int, many bool) {
	managed := e.driver.Managed()
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.brake.since), e.brake.pulled(e.opts.Now(), managed)
}
