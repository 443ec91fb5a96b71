// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Outcomes are how the last operation of each kind ended: two that take turns are
// remembered both.
type Outcomes map[driver.Kind]*Outcome

// Held returns nil when the operation may start.
func (o Outcomes) Held(op driver.Operation, now time.Time) *Hold { return o[op.Kind].held(op, now) }

// Outcome is how an operation ended.
type Outcome struct {
	// Fingerprint of the operation.
	Fingerprint uint64
	// Err is its failure; nil after success.
	Err error
	// Repeats is how often the same operation ended before.
	Repeats int
	// Next is when the same operation may start again.
	Next time.Time
}

// Fingerprint identifies what an operation would do: not what it finds, so that a
// value which the hypervisor gives back differently every time is still the same
// request.
func Fingerprint(op driver.Operation) uint64 {
	h := fnv.New64a()
	for _, part := range []string{string(op.Kind), op.Detail} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	for _, d := range op.Changes {
		_, _ = h.Write([]byte(d.Path))
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(d.Desired))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// repetition is how long the first operation that succeeded and is planned again
// waits: about as long as a stream may be behind.
const repetition = 5 * time.Second

// After is the outcome of an operation that ended with err at a time, with failure
// telling what kind of error it is, after last.
func After(last *Outcome, fingerprint uint64, err error, failure driver.Failure, at time.Time) *Outcome {
	o := &Outcome{Fingerprint: fingerprint, Err: err}
	if last != nil && last.Fingerprint == fingerprint && (last.Err == nil) == (err == nil) {
		o.Repeats = last.Repeats + 1
	}
	o.Next = at.Add(pause(err, failure, o.Repeats))
	return o
}

// pause is short for what passes by itself, long for what somebody must repair. What
// has succeeded may be tried once more at once: what was read may have been older.
func pause(err error, failure driver.Failure, repeats int) time.Duration {
	first, most := 5*time.Second, 2*time.Minute
	switch {
	case err == nil && repeats == 0:
		return 0
	case err == nil:
		first, most, repeats = repetition, 10*time.Minute, repeats-1
	case failure == driver.Stale:
		first, most = 200*time.Millisecond, 30*time.Second
	case failure == driver.Busy:
		first, most = time.Second, 30*time.Second
	case failure == driver.Lacking:
		most = time.Minute // As for a check.
	}
	return min(first<<min(repeats, 10), most)
}

// Hold says why an operation has to wait.
type Hold struct {
	// Wait is how long from now.
	Wait time.Duration
	// Reason for the condition.
	Reason string
	// Message for people.
	Message string
	// Err is the failure, nil after a success without effect.
	Err error
	// Failed is true after a failure, false after a success without effect.
	Failed bool
}

func (o *Outcome) held(op driver.Operation, now time.Time) *Hold {
	if o == nil || !o.Next.After(now) || o.Fingerprint != Fingerprint(op) {
		return nil
	}
	wait := o.Next.Sub(now)
	if o.Err != nil {
		return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonError, Message: o.Err.Error(), Err: o.Err, Failed: true}
	}
	return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonNotEffective, Message: ineffective(op)}
}

// ineffective says what was set and what is seen.
func ineffective(op driver.Operation) string {
	if len(op.Changes) == 0 {
		return fmt.Sprintf("%s succeeded without effect; it is tried again less and less often", op.Kind)
	}
	var parts []string
	for _, d := range op.Changes {
		parts = append(parts, fmt.Sprintf("%s was set to %q, and vSphere shows %q", d.Path, d.Desired, d.Running))
	}
	return conditions.List(parts, "; ")
}
