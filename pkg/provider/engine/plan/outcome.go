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

// Outcomes are the outcomes of different operations, latest first. Several are stored because operations may alternate,
// each undoing the other.
type Outcomes []Outcome

// maxOutcomes is the maximum number of stored outcomes.
const maxOutcomes = 8

// HoldFor returns the reason why the operation must wait, or nil if it may start.
func (o Outcomes) HoldFor(op driver.Operation, now time.Time) *Hold {
	fingerprint := Fingerprint(op)
	for i := range o {
		if o[i].Fingerprint == fingerprint {
			return o[i].hold(op, now)
		}
	}
	return nil
}

// Last returns the outcome of the last operation of a kind, or nil.
func (o Outcomes) Last(kind driver.Kind) *Outcome {
	for i := range o {
		if o[i].Kind == kind {
			return &o[i]
		}
	}
	return nil
}

// WithOutcome returns o with the outcome of an operation that ended at the given time. failure classifies err.
func (o Outcomes) WithOutcome(kind driver.Kind, fingerprint uint64, err error, failure driver.Failure, at time.Time) Outcomes {
	next := Outcome{Kind: kind, Fingerprint: fingerprint, Err: err, Failure: failure, Ended: at}
	others := make(Outcomes, 0, len(o))
	for _, last := range o {
		_, power := powerStates[kind]
		switch {
		case last.Fingerprint == fingerprint:
			if (last.Err == nil) == (err == nil) && !(canBeUndone(kind) && err == nil && at.Sub(last.Ended) >= backOffMemory) {
				next.Repeats = last.Repeats + 1
			}
		case power && err == nil && canBeUndone(last.Kind) && last.Kind != kind:
			// A different power state was requested, so the earlier operation was not undone by the guest or another
			// client.
		default:
			others = append(others, last)
		}
	}
	next.Next = at.Add(retryDelay(kind, err, failure, next.Repeats))
	return slices.Concat(Outcomes{next}, others[:min(len(others), maxOutcomes-1)])
}

// Outcome is the outcome of an operation.
type Outcome struct {
	// Kind of the operation.
	Kind driver.Kind
	// Fingerprint of the operation.
	Fingerprint uint64
	// Err is the error; nil after success.
	Err error
	// Failure classifies Err.
	Failure driver.Failure
	// Ended is the time when the operation ended.
	Ended time.Time
	// Repeats is the number of earlier operations with the same fingerprint and the same kind of result.
	Repeats int
	// Next is the earliest time at which the same operation may start again.
	Next time.Time
}

// Fingerprint identifies the intended effect of an operation. It does not include current values, so that a value that
// the hypervisor returns differently each time does not count as a new request.
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

// firstRepetitionDelay is the first delay for an operation that has succeeded and is planned again. It is about the
// maximum delay of updates from the hypervisor.
const firstRepetitionDelay = 5 * time.Second

// retryDelay returns the delay before the same operation may start again. It is short for temporary failures and long
// for failures that need a user. After the first success there is no delay, because the observation may have been older
// than the operation.
func retryDelay(kind driver.Kind, err error, failure driver.Failure, repeats int) time.Duration {
	first, maxDelay := 5*time.Second, 2*time.Minute
	switch {
	case err == nil && repeats == 0:
		return 0
	case err == nil && canBeUndone(kind):
		first, maxDelay, repeats = firstBackOff, maxBackOff, repeats-1
	case err == nil:
		first, maxDelay, repeats = firstRepetitionDelay, 10*time.Minute, repeats-1
	case failure == driver.Stale:
		first, maxDelay = 200*time.Millisecond, 30*time.Second
	case failure == driver.Busy:
		first, maxDelay = time.Second, 30*time.Second
	case failure == driver.NotFoundFailure:
		maxDelay = time.Minute // like the interval of checks
	}
	return min(first<<min(repeats, 10), maxDelay)
}

// Hold describes why an operation must wait.
type Hold struct {
	// Wait is the remaining delay.
	Wait time.Duration
	// Reason is the reason of the condition.
	Reason string
	// Message is shown to users.
	Message string
	// Err is the failure; nil after a success without effect.
	Err error
	// Failed is true after a failure, false after a success without effect.
	Failed bool
	// IsTemporary is true after a temporary failure.
	IsTemporary bool
}

func (o *Outcome) hold(op driver.Operation, now time.Time) *Hold {
	if !o.Next.After(now) {
		return nil
	}
	wait := o.Next.Sub(now)
	if o.Err != nil {
		return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonError, Message: o.Err.Error(), Err: o.Err, Failed: true,
			IsTemporary: o.Failure == driver.Stale || o.Failure == driver.Busy}
	}
	if canBeUndone(op.Kind) {
		return o.backOff(op, wait)
	}
	return &Hold{Wait: wait, Reason: vmv1alpha1.ReasonNotEffective, Message: describeIneffective(op)}
}

// describeIneffective describes changes that had no effect.
func describeIneffective(op driver.Operation) string {
	if len(op.Changes) == 0 {
		return fmt.Sprintf("%s succeeded but had no effect; it is retried with increasing delays", op.Kind)
	}
	var parts []string
	for _, d := range op.Changes {
		parts = append(parts, fmt.Sprintf("%s was set to %q but vSphere reports %q", d.Path, d.Desired, d.Running))
	}
	return conditions.JoinLimited(parts, "; ")
}
