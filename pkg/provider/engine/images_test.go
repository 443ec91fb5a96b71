// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// imageOperation returns an operation that ends with the error from the channel, or when its context is done.
func imageOperation(kind, detail string) (provider.ImageOperation, chan error) {
	end := make(chan error, 1)
	return provider.ImageOperation{
		Kind: kind, Detail: detail, Directory: detail,
		Run: func(ctx context.Context, progress func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
			progress(37)
			select {
			case err := <-end:
				return []vmv1alpha1.VirtualMachineImageCacheFile{{Path: detail}}, err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	}, end
}

func TestImageCopies_AreLimited(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		var ends []chan error
		for i := range 5 {
			op, end := imageOperation(provider.ImageCopy, fmt.Sprint(i))
			ends = append(ends, end)
			var want error
			if i == 4 {
				want = provider.ErrTooManyOperations
			}
			if err := s.StartImageOperation(s.t.Context(), fmt.Sprint(i), op); !errors.Is(err, want) {
				t.Errorf("copy %d = %v, want %v", i, err, want)
			}
		}
		again, _ := imageOperation(provider.ImageCopy, "other")
		if err := s.StartImageOperation(s.t.Context(), "0", again); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("another copy of a location = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
		if all := s.ImageOperations(); len(all) != 4 || all["0"].Progress != 30 || all["0"].Ended {
			t.Errorf("operations %+v, want four at 30 percent", all)
		}
		events := make(chan provider.Key, 10)
		watching, stop := context.WithCancel(s.t.Context())
		defer stop()
		go s.Watch(watching, func(h provider.Event) { events <- h.Key })
		synctest.Wait()
		for len(events) > 0 {
			<-events
		}
		ends[0] <- nil
		synctest.Wait()
		got := map[string]bool{}
		for len(events) > 0 {
			got[(<-events).Name] = true
		}
		if !got["0"] || !got["4"] {
			t.Errorf("events %v, want the ended copy and the waiting copy", got)
		}
		op, _ := imageOperation(provider.ImageCopy, "4")
		if err := s.StartImageOperation(s.t.Context(), "4", op); err != nil {
			t.Errorf("the waiting copy = %v", err)
		}
		if done := s.ImageOperations()["0"]; !done.Ended || done.Err != nil || len(done.Files) != 1 {
			t.Errorf("the ended copy is %+v", done)
		}
		s.EndImageOperation("0")
		if _, ok := s.ImageOperations()["0"]; ok {
			t.Error("an operation is kept after EndImageOperation")
		}
	})
}

func TestImageOperations_AreRetriedWithIncreasingDelays(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		fail := func(location string, err error) (mustWait time.Duration) {
			t.Helper()
			op, end := imageOperation(provider.ImageCopy, location)
			if err := s.StartImageOperation(s.t.Context(), location, op); err != nil {
				t.Fatal(err)
			}
			end <- err
			synctest.Wait()
			s.EndImageOperation(location)
			mustWait, _ = provider.AsRequeue(s.StartImageOperation(s.t.Context(), location, op))
			return mustWait
		}
		for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
			if got := fail("a", provider.ErrNoSpace); got != want {
				t.Errorf("retried in %s, want %s", got, want)
			}
			time.Sleep(want)
		}
		if got := fail("b", errors.New("no permission")); got != 5*time.Second {
			t.Errorf("another location is retried in %s, want 5 s", got)
		}
		fail("a", provider.ErrNoSpace)
		removal, end := imageOperation(provider.ImageRemoval, "c")
		if err := s.StartImageOperation(s.t.Context(), "c", removal); err != nil {
			t.Fatal(err)
		}
		end <- nil
		synctest.Wait()
		for location, waits := range map[string]bool{"a": false, "b": true} {
			op, _ := imageOperation(provider.ImageCopy, location)
			if err := s.StartImageOperation(s.t.Context(), location, op); (err != nil) != waits {
				t.Errorf("after a removal location %s = %v, want it to wait: %t", location, err, waits)
			}
		}
	})
}

func TestEndImageOperation_InterruptsARunningOperation(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		for _, location := range []string{"a", "b"} {
			op, _ := imageOperation(provider.ImageCopy, location)
			if err := s.StartImageOperation(s.t.Context(), location, op); err != nil {
				t.Fatal(err)
			}
		}
		s.EndImageOperation("a")
		synctest.Wait()
		if a, b := s.ImageOperations()["a"], s.ImageOperations()["b"]; !a.Ended || !errors.Is(a.Err, context.Canceled) || b.Ended {
			t.Errorf("operations %+v and %+v, want the first interrupted", a, b)
		}
		s.EndImageOperation("a")
		op, _ := imageOperation(provider.ImageCopy, "a")
		if err := s.StartImageOperation(s.t.Context(), "a", op); err != nil {
			t.Errorf("after an interruption: %v", err)
		}
	})
}

// An incomplete copy cannot be used, so the shutdown does not wait for it.
func TestImageOperations_EndImmediatelyAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(engine.Options{Driver: fake.New()})
		ctx, stop := context.WithCancelCause(context.Background())
		ended := make(chan struct{})
		go func() { e.Run(ctx); close(ended) }()
		synctest.Wait()
		op, _ := imageOperation(provider.ImageCopy, "a")
		if err := e.StartImageOperation(t.Context(), "a", op); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		started, cause := time.Now(), errors.New("the Lease is lost")
		stop(cause)
		<-ended
		if got := e.ImageOperations()["a"]; !got.Ended || !errors.Is(got.Err, cause) {
			t.Errorf("operation ended: %t, error %v; want %v", got.Ended, got.Err, cause)
		}
		if after := time.Since(started); after != 0 {
			t.Errorf("it ended after %s, want immediately", after)
		}
	})
}
