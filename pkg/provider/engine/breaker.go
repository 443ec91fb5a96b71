// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// The circuit breaker trips if more than breakerCount virtual machines and more than one in breakerShare of the managed
// ones have disappeared within breakerWindow. The values are a judgement: an administrator deletes a few virtual
// machines manually, while the loss of a host, a folder or a permission affects more.
const (
	breakerCount  = 5
	breakerShare  = 20
	breakerWindow = time.Minute
)

// breaker is the circuit breaker for mass disappearance. After it has tripped, it resets when only few virtual machines
// are missing. It has no lock and no clock. The zero value is ready to use.
type breaker struct {
	since   map[provider.Key]time.Time
	tripped bool
}

func (b *breaker) recordMissing(key provider.Key, now time.Time) {
	if b.since == nil {
		b.since = map[provider.Key]time.Time{}
	}
	if _, ok := b.since[key]; !ok {
		b.since[key] = now
	}
}

// clearMissing records that a virtual machine exists, or is known to be deleted.
func (b *breaker) clearMissing(key provider.Key) { delete(b.since, key) }

// isTripped reports whether the breaker is tripped. managed is the number of visible virtual machines.
func (b *breaker) isTripped(now time.Time, managed int) bool {
	many := func(n int) bool { return n > breakerCount && n*breakerShare > managed+len(b.since) }
	if !many(len(b.since)) {
		b.tripped = false
		return false
	}
	if b.tripped {
		return true
	}
	recent := 0
	for _, since := range b.since {
		if now.Sub(since) < breakerWindow {
			recent++
		}
	}
	b.tripped = many(recent)
	return b.tripped
}

// Missing returns the number of missing virtual machines, and whether the circuit breaker for mass disappearance is
// tripped.
func (e *Engine) Missing() (machines int, many bool) {
	managed := e.driver.CountOwned()
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.breaker.since), e.breaker.isTripped(e.opts.Now(), managed)
}
