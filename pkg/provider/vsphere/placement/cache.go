// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/singleflight"
)

// cacheSize bounds what is remembered of one kind. It is far above the number of
// places that one vCenter's virtual machines use at a time; names that users have
// once given must not add up for ever.
const cacheSize = 4096

// cache remembers what was found by name. What many ask for at the same time is
// looked up once. What was not found is not remembered.
type cache[T any] struct {
	flights singleflight.Group

	mu    sync.Mutex
	found map[string]T
	// generation tells lookups that began before clear from later ones.
	generation int
}

// known returns what was found before.
func (c *cache[T]) known(name string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.found[name]
	return v, ok
}

// get returns what is known or found by find. The lookup goes on when ctx ends,
// for others may wait for it too.
func (c *cache[T]) get(ctx context.Context, name string, find func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	v, ok := c.found[name]
	generation := c.generation
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	flight := c.flights.DoChan(strconv.Itoa(generation)+"\x00"+name, func() (any, error) {
		v, err := find(context.WithoutCancel(ctx))
		if err == nil {
			c.keep(generation, name, v)
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

// keep remembers v unless clear was called since the lookup began. When there is no
// room, any other goes.
func (c *cache[T]) keep(generation int, name string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if c.found == nil {
		c.found = map[string]T{}
	}
	for other := range c.found {
		if len(c.found) < cacheSize {
			break
		}
		delete(c.found, other)
	}
	c.found[name] = v
}

// clear forgets everything.
func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
	c.generation++
}
