// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// progressStep is the change of progress in percent that is written to status. A smaller step causes more writes.
const progressStep = 10

// progressRecorder returns a function that records the progress of an object's operation.
func (e *Engine) progressRecorder(key provider.Key) func(percent int32) {
	return func(percent int32) {
		e.mu.Lock()
		rec := e.states[key]
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

// progress returns the progress of an operation in whole steps, for messages.
func (e *Engine) progress(run *running) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if run.progress < progressStep {
		return ""
	}
	return fmt.Sprintf("%d percent", run.progress/progressStep*progressStep)
}
