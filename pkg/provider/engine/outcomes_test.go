// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// An operation that was interrupted because of a change must not delay its next start.
func TestOperation_IsDelayedOnlyByItsFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		err       error
		failure   driver.Failure
		isDelayed bool
	}{
		"interrupted":    {context.Canceled, driver.Interrupted, false},
		"refused":        {errors.New("no"), driver.Refused, true},
		"busy":           {errors.New("another task"), driver.Busy, true},
		"succeeded once": {nil, driver.Refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			op, now := driver.Operation{Kind: driver.KindPowerOff, WaitsForGuest: true}, time.Unix(1_700_000_000, 0)
			r := &objectState{}
			r.recordOutcome(&running{op: op, fingerprint: plan.Fingerprint(op)}, tc.err, tc.failure, now)
			if got := r.outcomes.HoldFor(op, now); (got != nil) != tc.isDelayed {
				t.Errorf("delayed: %+v, want %t", got, tc.isDelayed)
			}
		})
	}
}
