// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// cacheSize is the maximum number of entries of a cache. It is far above the number that one vCenter's virtual
// machines use, and keeps unused names from accumulating.
const cacheSize = 4096

// maxAge is the maximum age of a cached result. Until then, a name may identify another object, for example after
// an image or a network was replaced.
const maxAge = 5 * time.Minute

// cache caches results by name. Simultaneous lookups of a name share one call. Failed lookups are not cached.
type cache[T any] struct {
	flights singleflight.Group
	// age is the maximum age of a result. The default is maxAge.
	age time.Duration

	mu    sync.Mutex
	found map[string]entry[T]
	// generation distinguishes lookups that began before clear from later ones.
	generation int
}

// entry is a result and its time.
type entry[T any] struct {
	value T
	at    time.Time
}

// known returns a cached result of any age.
func (c *cache[T]) known(name string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.found[name]
	return p.value, ok
}

// get returns a cached result, or calls find if there is no recent one.
func (c *cache[T]) get(ctx context.Context, name string, find func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	p, ok := c.found[name]
	c.mu.Unlock()
	if ok && time.Since(p.at) < cmp.Or(c.age, maxAge) {
		return p.value, nil
	}
	return c.renew(ctx, name, find)
}

// renew calls find and returns its result. The lookup continues if ctx ends, because other callers may wait for it
// too. If the object is missing, its cached result is removed.
func (c *cache[T]) renew(ctx context.Context, name string, find func(context.Context) (T, error)) (v T, err error) {
	c.mu.Lock()
	generation := c.generation
	c.mu.Unlock()
	flight := c.flights.DoChan(strconv.Itoa(generation)+"\x00"+name, func() (any, error) {
		v, err := find(context.WithoutCancel(ctx))
		var unusable *NotUsableError
		switch {
		case err == nil:
			c.keep(generation, name, v)
		case errors.As(err, &unusable):
			c.forget(name)
		}
		return v, err
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return v, r.Err
		}
		return r.Val.(T), nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// keep caches v unless clear was called since the lookup began. If the cache is full, an arbitrary entry is
// removed.
func (c *cache[T]) keep(generation int, name string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if c.found == nil {
		c.found = map[string]entry[T]{}
	}
	for other := range c.found {
		if len(c.found) < cacheSize {
			break
		}
		delete(c.found, other)
	}
	c.found[name] = entry[T]{value: v, at: time.Now()}
}

func (c *cache[T]) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.found, name)
}

// clear removes all entries.
func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
	c.generation++
}
