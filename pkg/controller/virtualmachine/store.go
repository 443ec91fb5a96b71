// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// ownWritesTTL is how long an own write is remembered; a watch is long
	// caught up by then.
	ownWritesTTL = time.Minute
	// ownWritesSize is how many own writes are remembered, far more than there
	// are workers.
	ownWritesSize = 4096
)

// store reads objects of one kind from an informer's cache, or in the form that
// this process wrote them last when the cache does not have that yet. So a pass
// never decides on what an earlier pass has already changed.
type store[T runtime.Object] struct {
	cache    cache.MutationCache
	informed cache.Store
}

// newStore makes a store over informer. With adds, an object that was created here
// is found before the informer saw it.
func newStore[T runtime.Object](informer cache.SharedIndexInformer, adds bool) store[T] {
	return store[T]{informed: informer.GetStore(), cache: cache.NewIntegerResourceVersionMutationCacheWithOptions(
		klog.Background(), informer.GetStore(),
		cache.MutationCacheOptions{TTL: ownWritesTTL, IncludeAdds: adds, MaxCacheSize: ownWritesSize})}
}

// get returns the newest known object, or the zero value when there is none. The
// object is shared and must not be changed.
func (s store[T]) get(key types.NamespacedName) (T, error) {
	var none T
	obj, ok, err := s.cache.GetByKey(key.String())
	if err != nil || !ok {
		return none, err
	}
	if _, informed, err := s.informed.GetByKey(key.String()); err == nil && !informed {
		// Created here and not in the informer yet: the cache has just dropped it, since
		// it takes what it returns for something that the informer has.
		s.cache.Mutation(obj)
	}
	return obj.(T), nil
}

// wrote remembers an object as the server returned it, if the informer's cache does not
// have it yet.
func (s store[T]) wrote(obj T) {
	s.cache.Mutation(obj)
	// The watch may have been faster than the answer.
	if seen, ok, err := s.informed.Get(obj); err == nil && ok {
		s.saw(seen.(T))
	}
}

// saw forgets an own write that the informer's cache has too by now. Without it the
// object would be held twice until it is read the next time.
func (s store[T]) saw(obj T) { s.cache.OnAddOrUpdate(obj) }

// deleted remembers that obj is gone.
func (s store[T]) deleted(obj T) { s.cache.OnDelete(obj) }

// handler keeps the store right about what others create and delete.
func (s store[T]) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.saw(obj.(T)) },
		UpdateFunc: func(_, obj any) { s.saw(obj.(T)) },
		DeleteFunc: func(obj any) {
			if gone, ok := withoutTombstone[T](obj); ok {
				s.cache.OnDelete(gone)
			}
		},
	}
}

// WithoutManagedFields is a transform for informers that drops metadata.managedFields,
// a third of an object, which no pass looks at. An update with such an object leaves
// the managed fields that the server has as they are: only a list with one empty
// entry would reset them.
func WithoutManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}

// withoutTombstone returns the object of a delete event, also of one that the
// watch missed.
func withoutTombstone[T any](obj any) (T, bool) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	typed, ok := obj.(T)
	return typed, ok
}
