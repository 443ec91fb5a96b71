// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// machines is a client of a server that has one Machine. It counts the writes.
type machines struct {
	stored           *clusterv1alpha1.Machine
	writes, statuses int
}

func (s *machines) write(next *clusterv1alpha1.Machine) *clusterv1alpha1.Machine {
	n, _ := strconv.Atoi(s.stored.ResourceVersion)
	s.stored = next.DeepCopy()
	s.stored.ResourceVersion = strconv.Itoa(n + 1)
	return s.stored
}

func (s *machines) Update(_ context.Context, next *clusterv1alpha1.Machine, _ metav1.UpdateOptions) (*clusterv1alpha1.Machine, error) {
	s.writes++
	return s.write(next), nil
}

func (s *machines) UpdateStatus(_ context.Context, next *clusterv1alpha1.Machine, _ metav1.UpdateOptions) (*clusterv1alpha1.Machine, error) {
	s.statuses++
	return s.write(next), nil
}

// limitedStore returns a store whose informer has a Machine, and a client of the server that has the Machine.
func limitedStore(t *testing.T) (Store[*clusterv1alpha1.Machine], *machines) {
	t.Helper()
	m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "m", UID: "m", ResourceVersion: "1", Finalizers: []string{"a/b", "c/d"}}}
	informer := externalversions.NewSharedInformerFactory(nil, 0).Cluster().V1alpha1().Machines().Informer()
	if err := informer.GetIndexer().Add(m); err != nil {
		t.Fatal(err)
	}
	return NewStore[*clusterv1alpha1.Machine](informer, false), &machines{stored: m}
}

func TestWriteLimit_AllowsABurstAndThenTenAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := limitedStore(t)
		refusals, firsts := 0, 0
		// Another client reverts each write.
		fight := func(length time.Duration) {
			for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				next := server.stored.DeepCopy()
				next.Labels = map[string]string{"n": next.ResourceVersion}
				_, err := s.Update(t.Context(), server, next)
				var limited *LimitedError
				if errors.As(err, &limited) {
					refusals++
					if limited.Report {
						firsts++
					}
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
		fight(10 * time.Minute)
		if server.writes != writeBurst+99 || server.statuses != 1 || firsts != 1 || refusals == 0 {
			t.Errorf("%d writes, %d of status, %d refusals of which %d are reported; want %d, 1, many and 1", server.writes, server.statuses, refusals, firsts, writeBurst+99)
		}
		c := conditions.Find(server.stored.Status.Conditions, conditions.WritesWithinLimit)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != conditions.ReasonTooManyWrites || !strings.HasPrefix(c.Message, "Machine m was written 20 times in quick succession") {
			t.Errorf("the condition is %+v", c)
		}
		next := server.stored.DeepCopy()
		if err := s.UpdateStatus(t.Context(), server, next); err != nil || server.statuses != 1 {
			t.Errorf("an unchanged status: %d writes, %v; want none", server.statuses-1, err)
		}
		time.Sleep(10 * writeInterval)
		next = server.stored.DeepCopy()
		if err := s.UpdateStatus(t.Context(), server, next); err != nil || conditions.Find(server.stored.Status.Conditions, conditions.WritesWithinLimit) != nil {
			t.Errorf("a minute later the conditions are %v (%v), want the WritesWithinLimit condition removed", server.stored.Status.Conditions, err)
		}
		time.Sleep(time.Hour)
		fight(time.Minute)
		if firsts != 1 {
			t.Errorf("the limit was reported %d times, want once because it did not last", firsts)
		}
		fight(time.Minute)
		if firsts != 2 {
			t.Errorf("the limit was reported %d times, want 2", firsts)
		}
	})
}

func TestWriteLimit_AdmitsUrgentWrites(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*clusterv1alpha1.Machine)
		admitted bool
	}{
		"a label":                    {func(m *clusterv1alpha1.Machine) { m.Labels = map[string]string{"a": "b"} }, false},
		"a finalizer that is added":  {func(m *clusterv1alpha1.Machine) { m.Finalizers = append(m.Finalizers, "e/f") }, false},
		"the removal of a finalizer": {func(m *clusterv1alpha1.Machine) { m.Finalizers = m.Finalizers[:1] }, true},
		"an urgent change":           {func(m *clusterv1alpha1.Machine) { m.Spec.ProviderID = "first" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := limitedStore(t)
			s.Urgent = func(stored, next *clusterv1alpha1.Machine) bool {
				return stored.Spec.ProviderID == "" && next.Spec.ProviderID != ""
			}
			for range writeBurst {
				if err := s.writes.Admit(server.stored); err != nil {
					t.Fatal(err)
				}
			}
			next := server.stored.DeepCopy()
			test.change(next)
			if _, err := s.Update(t.Context(), server, next); (err == nil) != test.admitted {
				t.Errorf("error %v, want admitted %t", err, test.admitted)
			}
		})
	}
}

func TestWriteLimit_RemovesBucketsOfIdleObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewWriteLimit()
		for i := range 10 * fewBuckets {
			if err := l.Admit(pod(func(p *corev1.Pod) { p.Name = fmt.Sprint(i) })); err != nil {
				t.Fatal(err)
			}
			time.Sleep(writeInterval)
		}
		if len(l.buckets) > fewBuckets {
			t.Errorf("%d buckets are stored, want at most %d", len(l.buckets), fewBuckets)
		}
	})
}

func TestController_RequeuesALimitedWriteAndReportsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := limitedStore(t)
		for range writeBurst {
			if err := s.writes.Admit(server.stored); err != nil {
				t.Fatal(err)
			}
		}
		start, recorder := time.Now(), events.NewFakeRecorder(10)
		var at []time.Duration
		l, err := For[types.NamespacedName]("test").
			Reconciler(ReconcilerFunc[types.NamespacedName](func(ctx context.Context, _ types.NamespacedName) (Result, error) {
				at = append(at, time.Since(start))
				next := server.stored.DeepCopy()
				next.Labels = map[string]string{"n": next.ResourceVersion}
				if _, err := s.Update(ctx, server, next); err != nil {
					return Result{}, fmt.Errorf("writing: %w", err)
				}
				return Result{Requeue: len(at) < 22}, nil
			})).Build()
		if err != nil {
			t.Fatal(err)
		}
		l.RecordTo(recorder)
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))), 3*time.Minute)
		defer cancel()
		l.EnqueueAfter(KeyOf(server.stored), 0)
		if err := l.Run(ctx); err != nil {
			t.Fatal(err)
		}
		var want []time.Duration
		for n := range time.Duration(11) {
			want = append(want, n*writeInterval, (n+1)*writeInterval) // refused, then written
		}
		// A minute after the last write, enough writes are available to remove the condition.
		want = append(want, 11*writeInterval+reportAfter)
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("times of reconcile (-want +got):\n%s", diff)
		}
		if n := l.controller.counts.limited.Load(); n != 11 {
			t.Errorf("counted %d limited writes, want 11", n)
		}
		if event := <-recorder.Events; !strings.HasPrefix(event, "Warning TooManyWrites Machine m was written 20 times") || len(recorder.Events) != 0 {
			t.Errorf("event %q and %d more, want one event about the limit", event, len(recorder.Events))
		}
	})
}
