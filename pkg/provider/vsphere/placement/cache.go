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

// cacheSize bounds what is remembered of one kind. It is far above the number of
// places that one vCenter's virtual machines use at a time; names that users have
// once given must not add up for ever.
const cacheSize = 4096

// maxAge is how long what was found is used without another look. A name may lead to
// another object by then: an image that was replaced, a network that was made again.
const maxAge = 5 * time.Minute

// cache remembers what was found by name. What many ask for at the same time is
// looked up once. What was not found is not remembered.
type cache[T any] struct {
	flights singleflight.Group
	// age is how long what was found is used; maxAge if zero.
	age time.Duration

	mu    sync.Mutex
	found map[string]place[T]
	// generation tells lookups that began before clear from later ones.
	generation int
}

// place is what was found at a time.
type place[T any] struct {
	value T
	at    time.Time
}

// known returns what was found before, however long ago.
func (c *cache[T]) known(name string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.found[name]
	return p.value, ok
}

// get returns what find found not long ago, or finds now.
func (c *cache[T]) get(ctx context.Context, name string, find func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	p, ok := c.found[name]
	c.mu.Unlock()
	if ok && time.Since(p.at) < cmp.Or(c.age, maxAge) {
		return p.value, nil
	}
	return c.renew(ctx, name, find)
}

// renew returns what is found by find now. The lookup goes on when ctx ends, for others
// may wait for it too. What turns out to be missing is forgotten.
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

// keep remembers v unless clear was called since the lookup began. When there is no
// room, any other goes.
func (c *cache[T]) keep(generation int, name string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if c.found == nil {
		c.found = map[string]place[T]{}
	}
	for other := range c.found {
		if len(c.found) < cacheSize {
			break
		}
		delete(c.found, other)
	}
	c.found[name] = place[T]{value: v, at: time.Now()}
}

func (c *cache[T]) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.found, name)
}

// clear forgets everything.
func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
	c.generation++
}
