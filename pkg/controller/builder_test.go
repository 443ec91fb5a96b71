// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

var nothing = ReconcilerFunc[string](func(context.Context, string) (Result, error) { return Result{}, nil })

func TestBuilder_ReturnsErrorsOfIndexes(t *testing.T) {
	byName := cache.Indexers{"name": cache.MetaNamespaceIndexFunc}
	informer := podInformer()
	if _, err := For[string]("zone").Index(informer, byName).Reconciler(nothing).Build(); err != nil {
		t.Fatal(err)
	}
	_, err := For[string]("zone").Index(informer, byName).Reconciler(nothing).Build()
	if err == nil || !strings.Contains(err.Error(), "controller zone: adding indexes") {
		t.Errorf("a second index with the same name: %v, want an error with the controller's name", err)
	}
}

func TestBuilder_RunCallsEndFunctionsInReverseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		begin := func(name string) func(context.Context) (func(), error) {
			return func(ctx context.Context) (func(), error) {
				log = append(log, "begin "+name)
				return func() { log = append(log, "end "+name+": "+ctx.Err().Error()) }, nil
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var informers started
		l, err := For[string]("zone", &informers).BeforeSync(begin("a")).BeforeSync(begin("b")).
			Shard(Undivided{}, func(string) {}).
			RunsInParallel(func(ctx context.Context) { <-ctx.Done() }).
			Reconciler(ReconcilerFunc[string](func(_ context.Context, key string) (Result, error) {
				log = append(log, "reconcile "+key)
				cancel()
				return Result{}, nil
			})).Build()
		if err != nil {
			t.Fatal(err)
		}
		l.EnqueueAfter("x", 0)
		if err := l.Run(ctx); err != nil || !informers.yes {
			t.Errorf("Run returned %v, informers started: %t", err, informers.yes)
		}
		if diff := cmp.Diff([]string{"begin a", "begin b", "reconcile x", "end b: context canceled", "end a: context canceled"}, log); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestBuilder_RunReturnsErrorsOfBeforeSync(t *testing.T) {
	broken, ended := errors.New("broken"), false
	l, err := For[string]("zone").
		BeforeSync(func(context.Context) (func(), error) { return func() { ended = true }, nil }).
		BeforeSync(func(context.Context) (func(), error) { return nil, broken }).
		Reconciler(nothing).Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context()); !errors.Is(err, broken) || !ended {
		t.Errorf("Run returned %v, end function called: %t", err, ended)
	}
}

func TestCheckDeps_ListsMissingFields(t *testing.T) {
	type deps struct {
		Client  Shard
		Zones   func()
		Workers int
		Now     func() time.Time
	}
	for name, tc := range map[string]struct {
		deps deps
		want string
	}{
		"complete": {deps{Client: Undivided{}, Zones: func() {}}, ""},
		"empty":    {deps{}, "controller zone: missing Client, Zones"},
	} {
		got := ""
		if err := CheckDeps("zone", tc.deps, "Now"); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestObserveDelay_GrowsUntilAnObjectIsReady(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	is := func(kind string, status metav1.ConditionStatus, ago time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-ago))}
	}
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		want       time.Duration
	}{
		"ready":                {[]metav1.Condition{is("Ready", "True", time.Minute)}, Poll},
		"just not ready":       {[]metav1.Condition{is("Ready", "False", 0)}, MinObserveDelay},
		"not ready for a time": {[]metav1.Condition{is("Ready", "False", 20*time.Second)}, 10 * time.Second},
		"not ready for long":   {[]metav1.Condition{is("Ready", "False", time.Hour)}, Poll},
		"deleting":             {[]metav1.Condition{is("Ready", "True", time.Hour), is("Deleting", "True", 20*time.Second)}, 10 * time.Second},
	} {
		if got := ObserveDelay(tc.conditions, "Ready", "Deleting", now, Poll); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestFinalizers_AreWrittenOnlyIfTheyChange(t *testing.T) {
	s, server := limitedStore(t)
	before := server.stored
	for _, step := range []struct {
		add    bool
		name   string
		want   []string
		writes int
	}{
		{true, "a/b", []string{"a/b", "c/d"}, 0},
		{true, "e/f", []string{"a/b", "c/d", "e/f"}, 1},
		{false, "x/y", []string{"a/b", "c/d", "e/f"}, 1},
		{false, "a/b", []string{"c/d", "e/f"}, 2},
	} {
		var err error
		if step.add {
			_, err = AddFinalizer(t.Context(), s, server, server.stored, step.name)
		} else {
			_, err = RemoveFinalizer(t.Context(), s, server, server.stored, step.name)
		}
		if err != nil || !slices.Equal(server.stored.Finalizers, step.want) || server.writes != step.writes {
			t.Errorf("%+v: %v after %d writes, %v", step, server.stored.Finalizers, server.writes, err)
		}
	}
	if !slices.Equal(before.Finalizers, []string{"a/b", "c/d"}) {
		t.Errorf("the cached object was changed: %v", before.Finalizers)
	}
}

func TestEnqueuer_EditsIgnoresStatusUpdates(t *testing.T) {
	e := newTestEnqueuer()
	e.Priority = nil
	var deleted []string
	h := e.EditHandler(func(p *corev1.Pod) { deleted = append(deleted, p.Name) })
	h.OnUpdate(pod(), pod(version("8")))
	if got := drained(e.Queue); len(got) != 0 {
		t.Errorf("an update of status queued %v", got)
	}
	h.OnUpdate(pod(), pod(version("9"), func(p *corev1.Pod) { p.Generation = 2 }))
	if diff := cmp.Diff(map[string]int{"a": PriorityDefaultUpdate}, drained(e.Queue)); diff != "" {
		t.Errorf("an update of spec (-want +got):\n%s", diff)
	}
	h.OnAdd(pod(), true)
	if diff := cmp.Diff(map[string]int{"a": PriorityDefaultCreate}, drained(e.Queue)); diff != "" {
		t.Errorf("an object of the initial list (-want +got):\n%s", diff)
	}
	h.OnDelete(cache.DeletedFinalStateUnknown{Obj: pod()})
	if diff := cmp.Diff([]string{"a"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
