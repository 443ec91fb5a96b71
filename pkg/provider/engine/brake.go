// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// What makes an outage of a number of missing virtual machines: more than so many, and
// more than one in so many of the managed ones, first missed within the window. The
// numbers are a judgement: an administrator deletes a handful by hand, and whoever
// takes a host, a folder or a right away takes more.
const (
	brakeCount  = 5
	brakeShare  = 20
	brakeWindow = time.Minute
)

// brake knows what is missing. Once pulled it stays so until few are missing. It has
// no lock and no clock of its own. The zero value is ready for use.
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

// found says that a virtual machine is back, or known to be gone.
func (b *brake) found(key provider.Key) { delete(b.since, key) }

// pulled is true while an outage goes on. managed is the number of virtual machines
// that are shown.
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

// Missing returns how many virtual machines of objects are missing, and whether these are
// so many that nothing may follow from it.
func (e *Engine) Missing() (machines int, many bool) {
	managed := e.driver.Managed()
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.brake.since), e.brake.pulled(e.opts.Now(), managed)
}
