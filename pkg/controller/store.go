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
	// ownWritesTTL is the time for which own writes are stored. Within that time a watch has received them.
	ownWritesTTL = time.Minute
	// ownWritesSize is the number of own writes that are stored. It is far more than the number of workers.
	ownWritesSize = 4096
)

// Object is a pointer to a kind of an API.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// KeyOf returns the key of an object in queues and stores.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Store reads objects of one kind from an informer's cache. If this process has written a newer version than the cache
// has, Store returns that version. So a reconcile never ignores a change by an earlier reconcile. The objects are
// shared and must not be changed.
type Store[T Object] struct {
	// Urgent, if set, reports whether next must be written even though the write limit is reached.
	Urgent   func(stored, next T) bool
	cache    cache.MutationCache
	informed cache.Indexer
	writes   *WriteLimit
}

// NewStore returns a store for informer. The result of Handler must be added to the informer. If adds is true, the
// store finds objects that this process created before the informer received them.
func NewStore[T Object](informer cache.SharedIndexInformer, adds bool) Store[T] {
	return Store[T]{writes: NewWriteLimit(), informed: informer.GetIndexer(), cache: cache.NewIntegerResourceVersionMutationCacheWithOptions(
		klog.Background(), informer.GetIndexer(),
		cache.MutationCacheOptions{Indexer: informer.GetIndexer(), TTL: ownWritesTTL, IncludeAdds: adds, MaxCacheSize: ownWritesSize})}
}

// Get returns the newest known version of an object, or nil if there is none.
func (s Store[T]) Get(key types.NamespacedName) (T, error) {
	var none T
	name := cache.NewObjectName(key.Namespace, key.Name).String() // also for cluster-scoped objects
	obj, ok, err := s.cache.GetByKey(name)
	if err != nil || !ok {
		return none, err
	}
	found := obj.(T)
	if _, informed, err := s.informed.GetByKey(name); err == nil && !informed && createdRecently(found) {
		// This process created the object, and the informer does not have it yet. The cache has just dropped it,
		// because it expects that each returned object is in the informer.
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

// createdRecently reports whether an informer may not have received an object yet. If an older object is not in the
// informer, it was deleted before the informer received it.
func createdRecently(o metav1.Object) bool {
	return time.Since(o.GetCreationTimestamp().Time) < ownWritesTTL
}

// RecordWrite stores an object that the server returned, unless the informer's cache has that version.
func (s Store[T]) RecordWrite(obj T) {
	s.cache.Mutation(obj)
	// The watch event may have arrived before the response.
	if seen, ok, err := s.informed.Get(obj); err == nil && ok {
		s.dropOwnWrite(seen.(T))
	}
}

// Client writes objects of one kind, as generated clients do.
type Client[T Object] interface {
	Update(ctx context.Context, next T, opts metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, next T, opts metav1.UpdateOptions) (T, error)
}

// Admit returns a LimitedError if next was written too often. If that lasts, it also sets a condition of the stored
// object. A write that removes a finalizer is always admitted. Update and UpdateStatus call Admit.
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
			s.RecordWrite(written)
		}
	}
	return err
}

// CopyLimitCondition copies the write limit's condition of the stored object to next. It removes the condition when enough writes are
// available again. It must be called before a status is compared with the stored one.
func (s Store[T]) CopyLimitCondition(next T) {
	all := conditionsOf(next)
	if all == nil {
		return
	}
	if !s.writes.isReported(next) {
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

// Update writes next with client. It stores and returns the object that the server returned.
func (s Store[T]) Update(ctx context.Context, client Client[T], next T) (T, error) {
	if err := s.Admit(ctx, client, next); err != nil {
		return next, err
	}
	written, err := client.Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return written, fmt.Errorf("writing %s %s: %w", kindName(next), next.GetName(), err)
	}
	s.RecordWrite(written)
	return written, nil
}

// UpdateStatus writes the status of next with client, unless the store has it already. It stores the object that the
// server returned.
func (s Store[T]) UpdateStatus(ctx context.Context, client Client[T], next T) error {
	s.CopyLimitCondition(next)
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
	s.RecordWrite(written)
	return nil
}

// dropOwnWrite removes a stored own write that the informer's cache has. Otherwise the object would be in memory twice
// until the next read.
func (s Store[T]) dropOwnWrite(obj T) { s.cache.OnAddOrUpdate(obj) }

// RecordDelete records that obj is deleted.
func (s Store[T]) RecordDelete(obj T) { s.cache.OnDelete(obj) }

// Handler returns a handler that updates the store after events of the informer.
func (s Store[T]) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.dropOwnWrite(obj.(T)) },
		UpdateFunc: func(_, obj any) { s.dropOwnWrite(obj.(T)) },
		DeleteFunc: func(obj any) {
			if deleted, ok := WithoutTombstone[T](obj); ok {
				s.cache.OnDelete(deleted)
			}
		},
	}
}
