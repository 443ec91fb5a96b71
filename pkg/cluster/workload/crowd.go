// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// pageSize is that of a list.
const pageSize = 500

// crowd lists and watches the objects of one kind, and lets through what is needed of them,
// within bounds. What comes in a watch counts by its name and over all watches: a server that is
// not trusted may say of an object that it has never told of that it was modified, and may end a watch
// whenever it likes.
type crowd[O metav1.Object] struct {
	// what they are called in errors, and most is how many there may be.
	what string
	most int
	// list and watch ask the server.
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// strip removes what nothing here reads. It is an error for one that is too large even so.
	strip func(O) error
	// broken is told of what no retry mends.
	broken func(error)

	mu            sync.Mutex
	names         sets.Set[string]
	pages, listed int
}

// source is what an informer asks.
func (c *crowd[O]) source() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: c.page, WatchFuncWithContext: c.follow}
}

// begin is called before all objects are told anew.
func (c *crowd[O]) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.pages, c.listed = sets.Set[string]{}, 0, 0
}

// turn counts a page. There are no more than twice as many as objects need: a server that always
// has another page is not followed for ever.
func (c *crowd[O]) turn() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 2 * c.most / pageSize
	if c.pages++; c.pages > most {
		return fmt.Errorf("the list of %s has more than %d pages", c.what, most)
	}
	return nil
}

// take strips an object and counts it.
func (c *crowd[O]) take(o O, inList bool) error {
	if err := c.strip(o); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if inList {
		c.listed++
	}
	if c.names.Insert(o.GetName()); max(len(c.names), c.listed) > c.most {
		return fmt.Errorf("the cluster has more than %d %s", c.most, c.what)
	}
	return nil
}

func (c *crowd[O]) leave(o O) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names.Delete(o.GetName())
}

func (c *crowd[O]) page(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.Continue == "" {
		c.begin()
	}
	if err := c.turn(); err != nil {
		return nil, c.fail(err)
	}
	if o.Limit == 0 {
		o.Limit = pageSize
	}
	list, err := c.list(ctx, o)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		if object, ok := obj.(O); ok {
			return c.take(object, true)
		}
		return nil
	})
	if err != nil {
		return nil, c.fail(err)
	}
	return list, nil
}

func (c *crowd[O]) follow(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if ptr.Deref(o.SendInitialEvents, false) {
		c.begin()
	}
	w, err := c.watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, c.let), nil
}

// let lets an event of a watch through.
func (c *crowd[O]) let(e watch.Event) (watch.Event, bool) {
	object, ok := e.Object.(O)
	status, isStatus := e.Object.(*metav1.Status)
	var err error
	switch {
	case e.Type == watch.Error && isStatus:
		status.Message = shortError{errors.New(status.Message)}.Error() // It is logged.
	case !ok:
	case e.Type == watch.Added, e.Type == watch.Modified:
		err = c.take(object, false)
	case e.Type == watch.Deleted:
		c.leave(object)
		err = c.strip(object)
	}
	if err != nil {
		_ = c.fail(err)
		return e, false
	}
	return e, true
}

func (c *crowd[O]) fail(err error) error {
	c.broken(err)
	return err
}
