// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

// recorder collects the callbacks of a Runner.
type recorder struct {
	mu    sync.Mutex
	ended []string
	free  []string
}

func (r *recorder) options(slots int) Options {
	return Options{
		CreateSlots: slots,
		Ended: func(k types.NamespacedName, i Info, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			s := k.Name + " " + string(i.Kind)
			if err != nil {
				s += ": " + err.Error()
			}
			r.ended = append(r.ended, s)
		},
		SlotFree: func(k types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.free = append(r.free, k.Name)
		},
	}
}

func TestOneOperationPerVirtualMachine(t *testing.T) {
	rec := &recorder{}
	r := NewRunner(rec.options(1))
	defer r.Shutdown(t.Context())
	release := make(chan struct{})
	ch, err := r.Start(t.Context(), key("a"), Info{Kind: PowerOn}, func(context.Context) error {
		<-release
		return errors.New("refused")
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), key("a"), Info{Kind: PowerOff}, nil); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("second operation: got %v, want ErrReconcileInProgress", err)
	}
	if info, ok := r.Running(key("a")); !ok || info.Kind != PowerOn {
		t.Errorf("Running = %v, %v; want power on", info, ok)
	}
	close(release)
	if err := <-ch; err == nil || err.Error() != "refused" {
		t.Errorf("result = %v, want refused", err)
	}
	if diff := cmp.Diff([]string{"a power on: refused"}, rec.ended); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestPanicBecomesTheErrorOfTheOperation(t *testing.T) {
	r := NewRunner(Options{CreateSlots: 1})
	defer r.Shutdown(t.Context())
	ch, err := r.Start(t.Context(), key("a"), Info{Kind: PowerOn}, func(context.Context) error { panic("boom") })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ch; err == nil || !strings.Contains(err.Error(), "panic: boom") {
		t.Errorf("result = %v, want the panic", err)
	}
}

func TestFreedSlotWakesTheHighestPriorityThatWaitsLongest(t *testing.T) {
	rec := &recorder{}
	r := NewRunner(rec.options(1))
	defer r.Shutdown(t.Context())
	release := make(chan struct{})
	first, err := r.StartCreate(t.Context(), key("first"), 100, func(context.Context) error { <-release; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		name     string
		priority int
	}{{"low", -1}, {"high1", 100}, {"high2", 100}, {"low", -1}} {
		if _, err := r.StartCreate(t.Context(), key(w.name), w.priority, nil); !errors.Is(err, provider.ErrTooManyCreates) {
			t.Fatalf("%s: got %v, want ErrTooManyCreates", w.name, err)
		}
	}
	close(release)
	<-first
	// The slot is kept for high1: nobody else gets it.
	if _, err := r.StartCreate(t.Context(), key("late"), 200, nil); !errors.Is(err, provider.ErrTooManyCreates) {
		t.Fatalf("late: got %v, want ErrTooManyCreates", err)
	}
	// high1 does not use it, so that it goes to the next; late has left by then.
	r.Forget(key("late"))
	r.Passed(key("high1"))
	if diff := cmp.Diff([]string{"high1", "high2"}, rec.free); diff != "" {
		t.Errorf("offers (-want +got):\n%s", diff)
	}
}

func TestOfferedSlotIsUsedAndOffersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		r := NewRunner(rec.options(1))
		defer r.Shutdown(context.Background())
		nop := func(context.Context) error { return nil }
		release := make(chan struct{})
		first, err := r.StartCreate(t.Context(), key("first"), 0, func(context.Context) error { <-release; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.StartCreate(t.Context(), key("second"), 0, nop); err == nil {
			t.Fatal("second create started without a slot")
		}
		close(release)
		<-first
		if _, err := r.StartCreate(t.Context(), key("third"), 0, nop); err == nil {
			t.Fatal("third took the slot that was offered to second")
		}
		time.Sleep(31 * time.Second)
		ch, err := r.StartCreate(t.Context(), key("third"), 0, nop)
		if err != nil {
			t.Fatalf("third after the offer expired: %v", err)
		}
		<-ch
	})
}

func TestShutdownCancelsWhatDoesNotEnd(t *testing.T) {
	r := NewRunner(Options{CreateSlots: 1})
	ch, err := r.Start(t.Context(), key("a"), Info{Kind: PowerOff}, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Shutdown(ctx)
	if err := <-ch; !errors.Is(err, context.Canceled) {
		t.Errorf("result = %v, want canceled", err)
	}
	if _, err := r.Start(t.Context(), key("b"), Info{Kind: PowerOn}, nil); err == nil {
		t.Error("an operation started after shutdown")
	}
}
