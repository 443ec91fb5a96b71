// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestCompleteRequest_IsDeletedAfterItsTimeToLive(t *testing.T) {
	done := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	f := newFixture(t, publish(func(r *request) {
		r.Spec.TTLSecondsAfterFinished, r.Status.CompletionTime, r.Status.ItemID = ptr.To[int64](60), &done, "item-1"
	}))
	if result := f.reconcileUntilDone(); result.RequeueAfter != time.Minute {
		t.Errorf("result %+v, want a requeue after a minute", result)
	}
	f.clock = f.clock.Add(time.Minute)
	f.reconcileUntilDone()
	if _, err := f.api.VmV1alpha1().VirtualMachinePublishRequests("team-a").Get(t.Context(), "now", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the request still exists: %v", err)
	}
}

func TestCompleteRequest_IsWrittenOnceWhenItsTimeToLiveChanges(t *testing.T) {
	done := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	for name, ttl := range map[string]*int64{"without limit": nil, "for a minute": ptr.To[int64](60)} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, publish(func(r *request) {
				r.Generation, r.Status.ObservedGeneration = 2, 1
				r.Spec.TTLSecondsAfterFinished, r.Status.CompletionTime, r.Status.ItemID = ttl, &done, "item-1"
			}))
			for range 2 {
				f.reconcileUntilDone()
			}
			writes := 0
			for _, a := range f.api.Actions() {
				if a.GetVerb() == "update" {
					writes++
				}
			}
			if seen := f.request().Status.ObservedGeneration; seen != 2 || writes != 1 {
				t.Errorf("observed generation %d with %d writes; want 2 with one", seen, writes)
			}
		})
	}
}
