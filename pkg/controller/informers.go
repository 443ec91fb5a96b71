// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// StripManagedFields is a transform of informers that reduces the memory of cached objects and makes them safe to share. It removes
// metadata.managedFields, about a third of an object, which no controller reads. An update with such an object does not
// change the managed fields on the server: only a list with one empty entry would reset them. StripManagedFields also computes the
// text of every resource.Quantity. A Quantity stores its text when it is first formatted, and that would be a write to
// an object that others read at the same time. Computing the object's size in protobuf formats all its quantities.
func StripManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	if sized, ok := obj.(interface{ Size() int }); ok {
		sized.Size()
	}
	return obj, nil
}

// WithoutTombstone returns the object of a delete event, even if the watch missed the deletion.
func WithoutTombstone[T any](obj any) (T, bool) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	typed, ok := obj.(T)
	return typed, ok
}

// IndexBy returns a function that indexes objects of one kind by the results of values.
func IndexBy[T any](values func(T) []string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		if o, ok := obj.(T); ok {
			return values(o), nil
		}
		return nil, nil
	}
}

// Indexed returns the objects that an index of an informer has under value.
func Indexed[T any](indexer cache.Indexer, index, value string) []T {
	found, err := indexer.ByIndex(index, value)
	if err != nil {
		return nil // only for an index that does not exist
	}
	all := make([]T, 0, len(found))
	for _, obj := range found {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all
}

// Source is an informer and a handler of its events.
type Source struct {
	Informer cache.SharedIndexInformer
	Handler  cache.ResourceEventHandler
}

// Register adds the handlers in order. It returns functions that report whether each handler has processed the initial
// list. It returns an error if an informer has stopped.
func Register(sources ...Source) ([]cache.InformerSynced, error) {
	var synced []cache.InformerSynced
	for _, s := range sources {
		registration, err := s.Informer.AddEventHandler(s.Handler)
		if err != nil {
			return nil, fmt.Errorf("registering an event handler: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	return synced, nil
}
