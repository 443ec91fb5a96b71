// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const limit = 10 * time.Second

func TestFence_IsOpenForItsLimitAfterARenewalWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(limit)
		if !errors.Is(f.Check(), ErrClosed) {
			t.Error("open before the first renewal")
		}
		f.renew(ago(limit - time.Second))
		if err := f.Check(); err != nil {
			t.Errorf("closed after a renewal: %v", err)
		}
		time.Sleep(time.Second)
		if !errors.Is(f.Check(), ErrClosed) {
			t.Error("open when the limit has passed since the request")
		}
	})
}

func TestWait_ContinuesWithTheNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(limit)
		waited := make(chan error, 1)
		go func() { waited <- f.Wait(t.Context()) }()
		synctest.Wait()
		f.renew(ago(time.Hour)) // A response that took too long does not open the fence.
		synctest.Wait()
		if len(waited) != 0 {
			t.Fatal("Wait returned while the fence was closed")
		}
		f.renew(read())
		if err := <-waited; err != nil {
			t.Error(err)
		}
		time.Sleep(limit)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v, want the error of its context", err)
		}
	})
}

func TestWait_EndsWhenTheFenceIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(limit)
		waited := make(chan error, 1)
		go func() { waited <- f.Wait(t.Context()) }()
		synctest.Wait()
		if !f.Close() || f.Close() {
			t.Error("Close does not distinguish the first call from later calls")
		}
		if err := <-waited; !errors.Is(err, ErrClosed) {
			t.Errorf("the wait ended with %v", err)
		}
		f.renew(read())
		if err := f.Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("open after its end: %v", err)
		}
	})
}

func TestElapsed_IsTheLongerOfTwoClocks(t *testing.T) {
	from := read()
	for name, tc := range map[string]struct{ monotonic, wall, want time.Duration }{
		"both clocks run":             {3 * time.Second, 3 * time.Second, 3 * time.Second},
		"the machine was suspended":   {3 * time.Second, time.Hour, time.Hour},
		"the wall clock was set back": {3 * time.Second, -time.Hour, 3 * time.Second},
	} {
		to := reading{monotonic: from.monotonic.Add(tc.monotonic), wall: from.wall.Add(tc.wall)}
		if got := elapsed(from, to); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if now := read(); now.wall != now.monotonic.Round(0) {
		t.Errorf("the wall clock reads %s, the monotonic clock %s", now.wall, now.monotonic)
	}
}

// ago returns a reading in the past.
func ago(d time.Duration) reading {
	now := read()
	return reading{monotonic: now.monotonic.Add(-d), wall: now.wall.Add(-d)}
}

func TestNilFence_IsOpen(t *testing.T) {
	var f *Fence
	if f.Check() != nil || f.Wait(t.Context()) != nil {
		t.Error("closed")
	}
}

// fakeLock is a lock with the Lease in the API server.
type fakeLock struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	// duration is the duration of a request.
	duration time.Duration
	err      error
}

func (r *fakeLock) Identity() string { return "me" }
func (r *fakeLock) Describe() string { return "lease" }
func (r *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &r.record, nil, r.err
}

func (r *fakeLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	time.Sleep(r.duration)
	if r.err == nil {
		r.record = record
	}
	return r.err
}

func (r *fakeLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.Update(ctx, record)
}

func TestLock_RenewsTheFenceOnlyAfterSuccess(t *testing.T) {
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaderTransitions: 3}
	working := true
	synctest.Test(t, func(t *testing.T) {
		f, r := New(limit), &fakeLock{duration: limit - time.Second}
		var losses []error
		l := f.Lock(r, func() bool { return working }, func(err error) { losses = append(losses, err) })
		r.record = resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaderTransitions: 2}
		if _, _, _ = l.Get(t.Context()); len(losses) != 0 {
			t.Fatalf("%v, before this process held the Lease", losses)
		}
		r.err = errors.New("unreachable")
		if l.Update(t.Context(), record) == nil || f.Check() == nil {
			t.Error("open after a renewal that failed")
		}
		r.err = nil
		if err := errors.Join(l.Update(t.Context(), record), f.Check()); err != nil {
			t.Errorf("closed after a renewal: %v", err)
		}
		time.Sleep(time.Second)
		if f.Check() == nil {
			t.Error("the limit is measured from the response, want from the request")
		}
		r.duration = 0
		if l.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaderTransitions: 3}) == nil || r.record.HolderIdentity != "me" {
			t.Error("the Lease was released while work under it still runs")
		}
		if err := errors.Join(l.Update(t.Context(), record), f.Check()); err != nil || len(losses) != 0 {
			t.Errorf("after the refused release: error %v, losses %v; want an open fence", err, losses)
		}
		record.LeaderTransitions = 5 // another process held it and released it.
		if l.Update(t.Context(), record) == nil || f.Check() == nil || len(losses) != 1 {
			t.Errorf("the fence is open after another holder; losses %v", losses)
		}
		r.record.HolderIdentity = "other"
		if _, _, _ = l.Get(t.Context()); len(losses) != 1 {
			t.Errorf("superseded was called %d times for one loss", len(losses))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, r := New(limit), &fakeLock{}
		losses := 0
		l := f.Lock(r, func() bool { return working }, func(error) { losses++ })
		if err := errors.Join(l.Create(t.Context(), record), f.Check()); err != nil {
			t.Errorf("closed after the Lease was created: %v", err)
		}
		r.record.HolderIdentity = "other"
		if _, _, _ = l.Get(t.Context()); losses != 1 || f.Check() == nil {
			t.Error("the fence is open while another process holds the Lease")
		}
		working = false
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || r.record.HolderIdentity != "" {
			t.Errorf("the Lease was not released after all work had ended: %v", err)
		}
	})
}

func TestTransport_DelaysWritesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(limit)
		var sent []string
		next := roundTripper(func(r *http.Request) { sent = append(sent, r.Method) })
		send := func(ctx context.Context, method string) error {
			_, err := f.Transport(next).RoundTrip(httptest.NewRequestWithContext(ctx, method, "/", http.NoBody))
			return err
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			if err := send(soon, method); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want it to wait", method, err)
			}
		}
		if err := send(t.Context(), http.MethodGet); err != nil || len(sent) != 1 {
			t.Errorf("GET: %v; sent %v", err, sent)
		}
		other := New(limit)
		other.renew(read())
		if err := send(NewContext(t.Context(), other), http.MethodPut); err != nil || len(sent) != 2 {
			t.Errorf("PUT under another fence, which is open: %v; sent %v", err, sent)
		}
		if err := send(NewContext(soon, New(limit)), http.MethodPut); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("PUT under another fence, which is closed: %v, want it to wait", err)
		}
		go f.renew(read())
		if err := send(t.Context(), http.MethodPut); err != nil || len(sent) != 3 {
			t.Errorf("PUT after a renewal: %v; sent %v", err, sent)
		}
	})
}

type roundTripper func(*http.Request)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return &http.Response{}, nil
}
