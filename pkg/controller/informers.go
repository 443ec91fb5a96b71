// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// AsKept is a transform for informers that makes of an object what they keep: without
// metadata.managedFields, a third of it, which no pass looks at, and with the text of
// every amount. An update with such an object leaves the managed fields that the server
// has as they are: only a list with one empty entry would reset them. An amount makes its
// text when it is first asked for it, and keeps it, which would be a write into an object
// that others read at the same time; the size of an object in protobuf takes the texts of
// all its amounts.
func AsKept(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	if sized, ok := obj.(interface{ Size() int }); ok {
		sized.Size()
	}
	return obj, nil
}

// WithoutTombstone returns the object of a delete event, also of one that the
// watch missed.
func WithoutTombstone[T any](obj any) (T, bool) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	typed, ok := obj.(T)
	return typed, ok
}

// IndexBy indexes objects of one kind by the values that values gives.
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

// Source is an informer and what is to hear of its events.
type Source struct {
	Informer cache.SharedIndexInformer
	Handler  cache.ResourceEventHandler
}

// Register adds the handlers in order and returns what tells that each has seen the
// initial list. An informer that has ended takes none.
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
