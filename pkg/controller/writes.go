// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	// writeBurst is the number of writes of an object that a controller can make in quick succession. writeInterval is
	// the time between writes after them.
	writeBurst    = 20
	writeInterval = 6 * time.Second
	// reportAfter is the time for which an object's writes must have been limited before that is reported. During a
	// rollout, a set's status changes often for a while.
	reportAfter = time.Minute
	// fewBuckets is the number of buckets that are stored without a search for full ones.
	fewBuckets = 1024
)

// WriteLimit limits how often a controller writes each object. Without a limit, two controllers or clients that change
// the same field in turn would write forever.
type WriteLimit struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	// sweepAt is the number of buckets at which full ones are removed.
	sweepAt int
}

// bucket holds an object's remaining writes.
type bucket struct {
	tokens float64
	at     time.Time
	// since is the time of the first refusal. It is zero before that, and again when half of the tokens are available.
	since time.Time
	// reported is true if the refusals were reported.
	reported bool
}

// NewWriteLimit returns an unused limit.
func NewWriteLimit() *WriteLimit {
	return &WriteLimit{buckets: map[string]*bucket{}, sweepAt: fewBuckets}
}

// LimitedError is returned if the limit does not allow a write. A Controller queues the key again when the write is
// allowed.
type LimitedError struct {
	// Object is the object that was not written.
	Object runtime.Object
	// After is the time until it can be written.
	After time.Duration
	// Report is true for the first refusal after writes of the object have been limited for a minute.
	Report bool
}

// Error implements error.
func (e *LimitedError) Error() string {
	name := ""
	if o, ok := e.Object.(metav1.Object); ok {
		name = o.GetName()
	}
	return fmt.Sprintf("%s %s was written %d times in quick succession and is now written at most every %s: another client or controller may change it back",
		kindName(e.Object), name, writeBurst, writeInterval)
}

// condition returns the object's condition while its writes are limited.
func (e *LimitedError) condition() metav1.Condition {
	return metav1.Condition{Type: conditions.WritesWithinLimit, Status: metav1.ConditionFalse, Reason: conditions.ReasonTooManyWrites, Message: e.Error()}
}

// Admit returns a LimitedError unless o can be written now.
func (l *WriteLimit) Admit(o interface {
	metav1.Object
	runtime.Object
}) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(limitKey(o))
	if b.tokens >= 1 {
		b.tokens--
		return nil
	}
	if b.since.IsZero() {
		b.since = b.at
	}
	report := !b.reported && b.at.Sub(b.since) >= reportAfter
	b.reported = b.reported || report
	return &LimitedError{Object: o, After: time.Duration((1 - b.tokens) * float64(writeInterval)), Report: report}
}

// isReported reports whether refusals for o were reported and less than half of its tokens are available.
func (l *WriteLimit) isReported(o metav1.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[limitKey(o)]
	if ok {
		b.refill(time.Now())
	}
	return ok && b.reported
}

// bucket returns the current bucket of a key. The caller holds mu.
func (l *WriteLimit) bucket(key string) *bucket {
	now := time.Now()
	if len(l.buckets) >= l.sweepAt {
		for k, b := range l.buckets {
			if b.refill(now); b.tokens == writeBurst {
				delete(l.buckets, k)
			}
		}
		l.sweepAt = max(fewBuckets, 2*len(l.buckets))
	}
	b, ok := l.buckets[key]
	if !ok {
		b = &bucket{tokens: writeBurst, at: now}
		l.buckets[key] = b
	}
	b.refill(now)
	return b
}

func (b *bucket) refill(now time.Time) {
	b.tokens = min(writeBurst, b.tokens+float64(now.Sub(b.at))/float64(writeInterval))
	b.at = now
	if b.tokens >= writeBurst/2 {
		b.since, b.reported = time.Time{}, false
	}
}

func limitKey(o metav1.Object) string {
	return kindName(o) + " " + KeyOf(o).String() + " " + string(o.GetUID())
}

// kindName returns the kind of an object. It works for objects of clientsets, whose kind is empty.
func kindName(o any) string {
	if typed, ok := o.(runtime.Object); ok {
		if kind := typed.GetObjectKind().GroupVersionKind().Kind; kind != "" {
			return kind
		}
	}
	return reflect.TypeOf(o).Elem().Name()
}

// conditionsOf returns the conditions in an object's status, or nil if its kind has none.
func conditionsOf(o any) *[]metav1.Condition {
	status := reflect.ValueOf(o).Elem().FieldByName("Status")
	if status.Kind() != reflect.Struct {
		return nil
	}
	field := status.FieldByName("Conditions")
	if !field.IsValid() {
		return nil
	}
	found, _ := field.Addr().Interface().(*[]metav1.Condition)
	return found
}
