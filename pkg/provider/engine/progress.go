// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// progressStep is by how much a long operation has to come on, in percent, for its object to
// be told: each news is a write of its status.
const progressStep = 10

// progressOf returns what remembers how far the operation of an object has come.
func (e *Engine) progressOf(key provider.Key) func(percent int32) {
	return func(percent int32) {
		e.mu.Lock()
		rec := e.records[key]
		news := rec != nil && rec.running != nil && percent/progressStep > rec.running.progress/progressStep
		if news {
			rec.running.progress = percent
		}
		e.mu.Unlock()
		if news {
			e.hints.Send(key)
		}
	}
}

// progress says how far an operation has come, in whole steps.
func (e *Engine) progress(run *running) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if run.progress < progressStep {
		return ""
	}
	return fmt.Sprintf("%d percent", run.progress/progressStep*progressStep)
}
