// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Outcomes are how operations ended, the last one first: those that take turns, each of
// which undoes what another one did, are all remembered.
type Outcomes []Outcome

// remembered is how many outcomes are kept.
const remembered = 8

// Held returns nil when the operation may start.
func (o Outcomes) Held(op driver.Operation, now time.Time) *Hold {
	fingerprint := Fingerprint(op)
	for i := range o {
		if o[i].Fingerprint == fingerprint {
			return o[i].held(op, now)
		}
	}
	return nil
}

// Last is how the last operation of a kind ended, nil for none.
func (o Outcomes) Last(kind driver.Kind) *Outcome {
	for i := range o {
		if o[i].Kind == kind {
			return &o[i]
		}
	}
	return nil
}

// After is o and that an operation of a kind ended with err at a time, with failure telling
// what kind of error it is.
func (o Outcomes) After(kind driver.Kind, fingerprint uint64, err error, failure driver.Failure, at time.Time) Outcomes {
	next := Outcome{Kind: kind, Fingerprint: fingerprint, Err: err, Failure: failure, Ended: at}
	others := make(Outcomes, 0, len(o))
	for _, last := range o {
		_, power := powerStates[kind]
		switch {
		case last.Fingerprint == fingerprint:
			if (last.Err == nil) == (err == nil) && !(undone(kind) && err == nil && at.Sub(last.Ended) >= backOffMemory) {
				next.Repeats = last.Repeats + 1
			}
		case power && err == nil && undone(last.Kind) && last.Kind != kind:
			// Another power state was requested: the one before was not undone by others.
		default:
			others = append(others, last)
		}
	}
	next.Next = at.Add(pause(kind, err, failure, next.Repeats))
	return slices.Concat(Outcomes{next}, others[:min(len(others), remembered-1)])
}

// Outcome is how an operation ended.
type Outcome struct {
	// Kind of the operation.
	Kind driver.Kind
	// Fingerprint of the operation.
	Fingerprint uint64
	// Err is its failure; nil after success.
	Err error
	// Failure sorts Err.
	Failure driver.Failure
	// Ended is when it ended.
	Ended time.Time
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

// pause is short for what passes by itself, long for what somebody must repair. What
// has succeeded may be tried once more at once: what was read may have been older.
func pause(kind driver.Kind, err error, failure driver.Failure, repeats int) time.Duration {
	first, most := 5*time.Second, 2*time.Minute
	switch {
	case err == nil && repeats == 0:
		return 0
	case err == nil && undone(kind):
		first, most, repeats = firstBackOff, mostBackOff, repeats-1
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
	// Passes is true after a failure that passes by itself.
	Passes bool
}

func (o *Outcome) held(op driver.Operation, now time.Time) *Hold {
	if !o.Next.After(now) {
		return nil
	}
	wait := o.Next.Sub(now)
	if o.Err != nil {
		return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonError, Message: o.Err.Error(), Err: o.Err, Failed: true,
			Passes: o.Failure == driver.Stale || o.Failure == driver.Busy}
	}
	if undone(op.Kind) {
		return o.backOff(op, wait)
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
