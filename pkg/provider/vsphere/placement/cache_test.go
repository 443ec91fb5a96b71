// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a lookup that counts its calls and blocks until it may return.
type counted struct {
	mu     sync.Mutex
	n      int
	answer chan struct{}
	err    error
}

func (c *counted) find(context.Context) (int, error) {
	c.mu.Lock()
	c.n++
	n := c.n
	c.mu.Unlock()
	<-c.answer
	return n, c.err
}

func unblocked() *counted {
	c := &counted{answer: make(chan struct{})}
	close(c.answer)
	return c
}

func TestCache_SharesSimultaneousLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache[int]
		slow := &counted{answer: make(chan struct{})}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if v, err := c.get(t.Context(), "a", slow.find); v != 1 || err != nil {
					t.Errorf("get = %d, %v; want 1", v, err)
				}
			})
		}
		synctest.Wait()
		close(slow.answer)
		all.Wait()
		if v, ok := c.known("a"); v != 1 || !ok {
			t.Errorf("known = %d, %v; want 1", v, ok)
		}
	})
}

func TestCache_ContinuesTheLookupOfACanceledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache[int]
		slow := &counted{answer: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.get(ctx, "a", slow.find); !errors.Is(err, context.Canceled) {
			t.Errorf("get = %v, want canceled", err)
		}
		close(slow.answer)
		if v, err := c.get(t.Context(), "a", slow.find); v != 1 || err != nil {
			t.Errorf("get = %d, %v; want the result of the first lookup", v, err)
		}
	})
}

func TestCache_DoesNotKeepErrors(t *testing.T) {
	var c cache[int]
	bad := unblocked()
	bad.err = errors.New("away")
	if _, err := c.get(t.Context(), "a", bad.find); !errors.Is(err, bad.err) {
		t.Errorf("get = %v, want the failure", err)
	}
	if v, err := c.get(t.Context(), "a", unblocked().find); v != 1 || err != nil {
		t.Errorf("get = %d, %v; want another lookup", v, err)
	}
}

func TestCache_RenewsOldEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache[int]
		found := unblocked()
		get := func(find func(context.Context) (int, error)) (int, error) { return c.get(t.Context(), "a", find) }
		if v, err := get(found.find); v != 1 || err != nil {
			t.Fatalf("get = %d, %v; want 1", v, err)
		}
		time.Sleep(maxAge - time.Second)
		if v, err := get(found.find); v != 1 || err != nil {
			t.Errorf("get before the maximum age = %d, %v; want 1", v, err)
		}
		time.Sleep(time.Second)
		failing := unblocked()
		failing.err = errors.New("vCenter is unreachable")
		if _, err := get(failing.find); !errors.Is(err, failing.err) {
			t.Errorf("get while vCenter is unavailable = %v, want its error", err)
		}
		if _, ok := c.known("a"); !ok {
			t.Error("a failed lookup has removed the entry")
		}
		if v, err := get(found.find); v != 2 || err != nil {
			t.Errorf("get after the maximum age = %d, %v; want another lookup", v, err)
		}
		time.Sleep(maxAge)
		missing := unblocked()
		missing.err = &NotUsableError{Message: "vSphere has no a", Missing: true}
		if _, err := get(missing.find); !errors.Is(err, missing.err) {
			t.Errorf("get of a deleted object = %v, want its error", err)
		}
		if v, ok := c.known("a"); ok {
			t.Errorf("known = %d for a deleted object", v)
		}
	})
}

func TestCache_DoesNotKeepResultsFromBeforeAClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache[int]
		slow := &counted{answer: make(chan struct{})}
		var all sync.WaitGroup
		all.Go(func() { _, _ = c.get(t.Context(), "a", slow.find) })
		synctest.Wait()
		c.clear()
		close(slow.answer)
		all.Wait()
		if v, ok := c.known("a"); ok {
			t.Errorf("known = %d after clear", v)
		}
	})
}

func TestCache_IsLimited(t *testing.T) {
	var c cache[int]
	find := unblocked().find
	for i := range cacheSize + 10 {
		if _, err := c.get(t.Context(), strconv.Itoa(i), find); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.found); n != cacheSize {
		t.Errorf("%d names are cached, want %d", n, cacheSize)
	}
	if _, ok := c.known(strconv.Itoa(cacheSize + 9)); !ok {
		t.Error("the last name is not cached")
	}
}
