// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// call is one call of Reconcile.
type call struct {
	At  time.Duration
	Key string
}

// script has the results of the reconciles of one key, in order. The last result is repeated.
type script []func() (Result, error)

func answer(r Result, err error) func() (Result, error) {
	return func() (Result, error) { return r, err }
}

// run adds a key, runs the controller for a while and returns the calls of Reconcile.
func run(t *testing.T, s script, options Options[string], add priorityqueue.AddOpts, length time.Duration) []call {
	t.Helper()
	var calls []call
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		options.Queue = priorityqueue.New("test", priorityqueue.WithRateLimiter(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)))
		options.Reconciler = ReconcilerFunc[string](func(_ context.Context, key string) (Result, error) {
			n := len(calls)
			calls = append(calls, call{time.Since(start), key})
			return s[min(n, len(s)-1)]()
		})
		c := New(options)
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), length)
		defer cancel()
		c.Queue().AddWithOpts(add, "a")
		c.Run(ctx)
	})
	return calls
}

func TestController_RequeuesByResult(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		script script
		want   []time.Duration
	}{
		"success: never again":           {script{answer(Result{}, nil)}, []time.Duration{0}},
		"requeue: immediately":           {script{answer(Result{Requeue: true}, nil), answer(Result{}, nil)}, []time.Duration{0, 0}},
		"requeue after":                  {script{answer(Result{RequeueAfter: 3 * time.Second}, nil), answer(Result{}, nil)}, []time.Duration{0, 3 * time.Second}},
		"requeue after takes precedence": {script{answer(Result{RequeueAfter: time.Second, Requeue: true}, nil), answer(Result{}, nil)}, []time.Duration{0, time.Second}},
		"error: with backoff":            {script{answer(Result{}, broken), answer(Result{}, broken), answer(Result{}, nil)}, []time.Duration{0, time.Second, 3 * time.Second}},
		"error: the result is ignored":   {script{answer(Result{Requeue: true}, broken), answer(Result{}, nil)}, []time.Duration{0, time.Second}},
		"success ends the backoff":       {script{answer(Result{}, broken), answer(Result{Requeue: true}, nil), answer(Result{}, broken), answer(Result{}, nil)}, []time.Duration{0, time.Second, time.Second, 2 * time.Second}},
		"requeue after ends the backoff": {script{answer(Result{}, broken), answer(Result{RequeueAfter: time.Second}, nil), answer(Result{}, broken), answer(Result{}, nil)}, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}},
		"panic: handled like an error":   {script{func() (Result, error) { panic("boom") }, answer(Result{}, nil)}, []time.Duration{0, time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			for _, p := range run(t, test.script, Options[string]{Name: "test"}, priorityqueue.AddOpts{}, time.Minute) {
				got = append(got, p.At)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("times of reconcile (-want +got):\n%s", diff)
			}
		})
	}
}

func TestController_EvaluatesPriorityWhenRequeueing(t *testing.T) {
	for name, test := range map[string]struct {
		evaluate func(string) int
		want     []int
	}{
		"unchanged without a function": {nil, []int{7, 7}},
		"evaluated with a function":    {func(string) int { return 97 }, []int{7, 97}},
		"evaluated lower than before":  {func(string) int { return -4 }, []int{7, -4}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &recordingQueue{Interface: priorityqueue.New[string]("test")}
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			c := New(Options[string]{Name: "test", Queue: q, Priority: test.evaluate,
				Reconciler: ReconcilerFunc[string](func(context.Context, string) (Result, error) {
					calls++
					if calls == 2 {
						cancel()
					}
					return Result{Requeue: calls == 1}, nil
				})})
			c.Queue().AddWithOpts(priorityqueue.AddOpts{Priority: 7}, "a")
			c.Run(ctx)
			if diff := cmp.Diff(test.want, q.priorities); diff != "" {
				t.Errorf("returned priorities (-want +got):\n%s", diff)
			}
		})
	}
}

// recordingQueue records the priorities of the keys that it returns.
type recordingQueue struct {
	priorityqueue.Interface[string]
	priorities []int
}

func (q *recordingQueue) GetWithPriority() (string, int, bool) {
	key, priority, shutdown := q.Interface.GetWithPriority()
	if !shutdown {
		q.priorities = append(q.priorities, priority)
	}
	return key, priority, shutdown
}

func TestController_RunReturnsAfterItsWorkersAndDropsTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, ended atomic.Int32
		c := New(Options[int]{Name: "test", Workers: 4, Reconciler: ReconcilerFunc[int](func(ctx context.Context, _ int) (Result, error) {
			calls.Add(1)
			<-ctx.Done()
			<-time.After(time.Second)
			ended.Add(1)
			return Result{}, ctx.Err()
		})})
		for i := range 100 {
			c.Queue().Add(i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.Run(ctx)
		if calls.Load() != 4 || ended.Load() != 4 {
			t.Errorf("%d reconciles started and %d ended, want 4 of each", calls.Load(), ended.Load())
		}
		if n := c.Queue().NumRequeues(0); n != 0 {
			t.Errorf("an interrupted reconcile was counted as %d failures", n)
		}
	})
}

func TestController_LogsErrorsOnce(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	calls := 0
	c := New(Options[string]{Name: "test", Reconciler: ReconcilerFunc[string](func(context.Context, string) (Result, error) {
		calls++
		if calls == 2 {
			cancel()
			return Result{}, nil
		}
		return Result{}, errors.New("broken")
	})})
	c.Queue().Add("ns/a")
	c.Run(ctx)
	errs := 0
	for _, e := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
		if e.Type == ktesting.LogError {
			errs++
			if e.Err == nil || e.Err.Error() != "broken" {
				t.Errorf("logged error %v, want broken", e.Err)
			}
		}
	}
	if errs != 1 {
		t.Errorf("%d error lines, want 1", errs)
	}
}

func TestCollector_CountsOutcomes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	c := New(Options[string]{Name: "test", Reconciler: ReconcilerFunc[string](func(context.Context, string) (Result, error) {
		calls++
		if calls == 3 {
			cancel()
		}
		return Result{Requeue: calls < 3}, nil
	})})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c.Collector())
	c.Queue().Add("a")
	c.Run(ctx)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "slipway_controller_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			got[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"success": 1, "requeue": 2, "requeue_after": 0, "error": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reconciles by result (-want +got):\n%s", diff)
	}
}
