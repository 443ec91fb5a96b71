// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// The delays after which controllers reconcile an object again. A controller that needs another delay defines it
// with the reason.
const (
	// Settle is the time in which events of related objects are gathered, so that several of them cause one reconcile.
	Settle = 100 * time.Millisecond
	// ShortConflict is Conflict for objects that other clients write often, or whose users wait for the next step.
	ShortConflict = 100 * time.Millisecond
	// Conflict is for an object that another client has written during the reconcile. After this delay, the caches have
	// the new version.
	Conflict = time.Second
	// Soon is for a temporary state of about a second, for example while a cache is filled.
	Soon = time.Second
	// Recheck is for a state that ends without an event, for example when a Secret is created.
	Recheck = 10 * time.Second
	// Poll is for a state that ends without an event and takes several calls to read, or that rarely ends.
	Poll = 30 * time.Second
)

// MinObserveDelay is the shortest delay that ObserveDelay returns.
const MinObserveDelay = 2 * time.Second

// ObserveDelay returns the delay after which an object must be observed again. The arguments are its conditions and the types
// of the two conditions for readiness and deletion. If the object is ready, the delay is every. While the object is not
// ready or is being deleted, the delay is half of the time for which this has been so, between MinObserveDelay and every.
func ObserveDelay(all []metav1.Condition, ready, deleting string, now time.Time, every time.Duration) time.Duration {
	since := conditions.Find(all, ready)
	if deletion := conditions.Find(all, deleting); deletion != nil {
		since = deletion
	} else if since.Status == metav1.ConditionTrue {
		return every
	}
	return min(max(now.Sub(since.LastTransitionTime.Time)/2, MinObserveDelay), every)
}
