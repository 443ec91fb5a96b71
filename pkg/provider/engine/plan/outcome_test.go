// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestOutcomes_DelaysIncrease(t *testing.T) {
	broken := errors.New("broken")
	s := time.Second
	for name, tc := range map[string]struct {
		err     error
		failure driver.Failure
		want    []time.Duration
	}{
		"needs a user":           {broken, driver.Refused, []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 120 * s, 120 * s}},
		"missing in vSphere":     {broken, driver.NotFoundFailure, []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 60 * s, 60 * s}},
		"outdated inventory":     {broken, driver.Stale, []time.Duration{s / 5, 2 * s / 5, 4 * s / 5, 8 * s / 5}},
		"temporary":              {broken, driver.Busy, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		"success without effect": {nil, driver.Refused, []time.Duration{0, 5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			var o Outcomes
			var got []time.Duration
			for range tc.want {
				o = o.WithOutcome(driver.KindReconfigure, 7, tc.err, tc.failure, now)
				got = append(got, o[0].Next.Sub(now))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
			if o = o.WithOutcome(driver.KindReconfigure, 8, tc.err, tc.failure, now); o[0].Next.Sub(now) != tc.want[0] {
				t.Errorf("delay of another request = %s, want %s", o[0].Next.Sub(now), tc.want[0])
			}
		})
	}
}

func TestOutcomes_AfterResetsRepeatsOnAFailureAfterASuccess(t *testing.T) {
	var o Outcomes
	for _, err := range []error{nil, nil, errors.New("broken")} {
		o = o.WithOutcome(driver.KindReconfigure, 7, err, driver.Refused, now)
	}
	if o[0].Repeats != 0 {
		t.Errorf("%d repeats after the first failure, want none", o[0].Repeats)
	}
}

func change(path, running, desired string) driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Changes: []driver.Difference{{Path: path, Running: running, Desired: desired}}}
}

func TestFingerprint_IgnoresTheCurrentValue(t *testing.T) {
	if Fingerprint(change("guestID", "a", "c")) != Fingerprint(change("guestID", "b", "c")) {
		t.Error("a value that vSphere returns differently each time is set again without a delay")
	}
	if Fingerprint(change("guestID", "a", "c")) == Fingerprint(change("guestID", "a", "d")) {
		t.Error("another desired value has the same fingerprint and would have to wait")
	}
}

// A restart that is never recorded, and a value that vSphere returns differently, both succeed. Both wait longer each
// time.
func TestOutcomes_DelayRepeatedSuccesses(t *testing.T) {
	for name, op := range map[string]driver.Operation{
		"S1 restart": {Kind: driver.KindRestart, Detail: "0001-01-01T00:00:00Z"},
		"S2 value":   change("devices.gpus", "grid\ufffdx", "grid\u001bx"),
	} {
		t.Run(name, func(t *testing.T) {
			last, at, started := Outcomes{}, now, 0
			for end := now.Add(time.Hour); at.Before(end); started++ {
				if hold := last.HoldFor(op, at); hold != nil {
					if hold.Reason != vmv1alpha1.ReasonNotEffective || hold.Failed {
						t.Fatalf("held as %+v, want NotEffective", hold)
					}
					at = at.Add(hold.Wait)
				}
				last = last.WithOutcome(op.Kind, Fingerprint(op), nil, driver.Refused, at)
			}
			if started > 15 {
				t.Errorf("started %d times within an hour", started)
			}
		})
	}
}

// Two alternating operations must not delete each other's outcome, whether of the same kind or of two kinds.
func TestOutcomes_DelayAlternatingOperations(t *testing.T) {
	config, restart := change("guestID", "a", "c"), driver.Operation{Kind: driver.KindRestart, Detail: "0"}
	last := Outcomes{}
	for range 2 {
		for _, op := range []driver.Operation{config, restart} {
			last = last.WithOutcome(op.Kind, Fingerprint(op), nil, driver.Refused, now)
		}
	}
	want := &Hold{Wait: 5 * time.Second, Reason: vmv1alpha1.ReasonNotEffective, Message: `guestID was set to "c" but vSphere reports "a"`}
	if diff := cmp.Diff(want, last.HoldFor(config, now)); diff != "" {
		t.Errorf("hold of the configuration (-want +got):\n%s", diff)
	}
	if last.HoldFor(restart, now) == nil {
		t.Error("the restart is not held")
	}
	if last.HoldFor(config, now.Add(5*time.Second)) != nil {
		t.Error("the configuration is held longer than reported")
	}
}

// For example, vSphere lowers a reservation together with its limit, and raises the limit together with the
// reservation.
func TestOutcomes_DelayChangesThatUndoEachOther(t *testing.T) {
	ops := []driver.Operation{change("memory.reservation", "4Mi", "1Gi"), change("memory.limit", "", "4Mi")}
	last, at, started := Outcomes{}, now, 0
	for end := now.Add(time.Hour); at.Before(end); started++ {
		op := ops[started%len(ops)]
		if hold := last.HoldFor(op, at); hold != nil {
			at = at.Add(hold.Wait)
		}
		last = last.WithOutcome(op.Kind, Fingerprint(op), nil, driver.Refused, at)
	}
	if started > 30 {
		t.Errorf("started %d times within an hour", started)
	}
}

func TestOutcomes_AreLimited(t *testing.T) {
	var last Outcomes
	for i := range uint64(maxOutcomes + 3) {
		last = last.WithOutcome(driver.KindReconfigure, i, nil, driver.Refused, now)
	}
	if len(last) != maxOutcomes || last[0].Fingerprint != maxOutcomes+2 {
		t.Errorf("%d outcomes, the first with fingerprint %d; want %d, the latest first", len(last), last[0].Fingerprint, maxOutcomes)
	}
}
