// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	// ownWritesTTL is how long an own write is remembered; a watch is long
	// caught up by then.
	ownWritesTTL = time.Minute
	// ownWritesSize is how many own writes are remembered, far more than there
	// are workers.
	ownWritesSize = 4096
)

// Object is what a controller reads and writes: a pointer to a kind of an API.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// KeyOf is the key of an object in queues and stores.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Store reads objects of one kind from an informer's cache, or in the form that
// this process wrote them last when the cache does not have that yet. So a pass
// never decides on what an earlier pass has already changed. Its objects are shared
// and must not be changed.
type Store[T Object] struct {
	// Urgent, if it is set, reports whether next must be written although the limit is reached.
	Urgent   func(stored, next T) bool
	cache    cache.MutationCache
	informed cache.Indexer
	writes   *WriteLimit
}

// NewStore makes a store over informer, to which Handler must be added. With adds, an
// object that was created here is found before the informer saw it.
func NewStore[T Object](informer cache.SharedIndexInformer, adds bool) Store[T] {
	return Store[T]{writes: NewWriteLimit(), informed: informer.GetIndexer(), cache: cache.NewIntegerResourceVersionMutationCacheWithOptions(
		klog.Background(), informer.GetIndexer(),
		cache.MutationCacheOptions{Indexer: informer.GetIndexer(), TTL: ownWritesTTL, IncludeAdds: adds, MaxCacheSize: ownWritesSize})}
}

// Get returns the newest known object, or nil when there is none.
func (s Store[T]) Get(key types.NamespacedName) (T, error) {
	var none T
	name := cache.NewObjectName(key.Namespace, key.Name).String() // which knows objects of the cluster
	obj, ok, err := s.cache.GetByKey(name)
	if err != nil || !ok {
		return none, err
	}
	found := obj.(T)
	if _, informed, err := s.informed.GetByKey(name); err == nil && !informed && young(found) {
		// Created here and not in the informer yet: the cache has just dropped it, since
		// it takes what it returns for something that the informer has.
		s.cache.Mutation(found)
	}
	return found, nil
}

// ByIndex returns the newest known objects that an index of the informer has under value.
func (s Store[T]) ByIndex(index, value string) ([]T, error) {
	found, err := s.cache.ByIndex(index, value)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	all := make([]T, 0, len(found))
	for _, obj := range found {
		all = append(all, obj.(T))
	}
	return all, nil
}

// young is true for an object that an informer may still have to hear of. One that it
// has not heard of by then was deleted before it could.
func young(o metav1.Object) bool {
	return time.Since(o.GetCreationTimestamp().Time) < ownWritesTTL
}

// Wrote remembers an object as the server returned it, if the informer's cache does not
// have it yet.
func (s Store[T]) Wrote(obj T) {
	s.cache.Mutation(obj)
	// The watch may have been faster than the answer.
	if seen, ok, err := s.informed.Get(obj); err == nil && ok {
		s.saw(seen.(T))
	}
}

// Client writes objects of one kind, as generated clients do.
type Client[T Object] interface {
	Update(ctx context.Context, next T, opts metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, next T, opts metav1.UpdateOptions) (T, error)
}

// Admit returns a LimitedError if next was written too often, and shows in a condition of the stored
// object if that lasts. The removal of a finalizer is always admitted. Update and UpdateStatus call it.
func (s Store[T]) Admit(ctx context.Context, client Client[T], next T) error {
	stored, err := s.Get(KeyOf(next))
	if err != nil {
		return err
	}
	var none T
	if stored != none && (len(next.GetFinalizers()) < len(stored.GetFinalizers()) || s.Urgent != nil && s.Urgent(stored, next)) {
		return nil
	}
	err = s.writes.Admit(next)
	var limited *LimitedError
	if stored == none || !errors.As(err, &limited) || !limited.Report {
		return err
	}
	shown := stored.DeepCopyObject().(T)
	if all := conditionsOf(shown); all != nil {
		conditions.Set(all, time.Now(), limited.condition())
		if written, failed := client.UpdateStatus(ctx, shown, metav1.UpdateOptions{}); failed == nil {
			s.Wrote(written)
		}
	}
	return err
}

// Mark gives next the condition of the limit if the stored object has it, and removes it once enough
// writes are left. It is called before a status is compared with the stored one.
func (s Store[T]) Mark(next T) {
	all := conditionsOf(next)
	if all == nil {
		return
	}
	if !s.writes.reported(next) {
		meta.RemoveStatusCondition(all, conditions.WritesWithinLimit)
		return
	}
	var none T
	if stored, err := s.Get(KeyOf(next)); err == nil && stored != none {
		if shown := conditions.Find(*conditionsOf(stored), conditions.WritesWithinLimit); shown != nil {
			meta.SetStatusCondition(all, *shown)
		}
	}
}

// Update writes next with client, and remembers and returns what the server has made of it.
func (s Store[T]) Update(ctx context.Context, client Client[T], next T) (T, error) {
	if err := s.Admit(ctx, client, next); err != nil {
		return next, err
	}
	written, err := client.Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return written, fmt.Errorf("writing %s %s: %w", kindName(next), next.GetName(), err)
	}
	s.Wrote(written)
	return written, nil
}

// UpdateStatus writes the status of next with client, unless the store has it already, and
// remembers it.
func (s Store[T]) UpdateStatus(ctx context.Context, client Client[T], next T) error {
	s.Mark(next)
	if stored, err := s.Get(KeyOf(next)); err == nil && equality.Semantic.DeepEqual(stored, next) {
		return nil
	}
	if err := s.Admit(ctx, client, next); err != nil {
		return err
	}
	written, err := client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the status of %s %s: %w", kindName(next), next.GetName(), err)
	}
	s.Wrote(written)
	return nil
}

// saw forgets an own write that the informer's cache has too by now. Without it the
// object would be held twice until it is read the next time.
func (s Store[T]) saw(obj T) { s.cache.OnAddOrUpdate(obj) }

// Deleted remembers that obj is gone.
func (s Store[T]) Deleted(obj T) { s.cache.OnDelete(obj) }

// Handler keeps the store right about what others create and delete.
func (s Store[T]) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.saw(obj.(T)) },
		UpdateFunc: func(_, obj any) { s.saw(obj.(T)) },
		DeleteFunc: func(obj any) {
			if gone, ok := WithoutTombstone[T](obj); ok {
				s.cache.OnDelete(gone)
			}
		},
	}
}
