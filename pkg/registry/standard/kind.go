// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// Unobserved is the status.observedGeneration of an object that no controller has reconciled yet. Without it, tools
// that follow the kstatus convention consider a new object complete.
const Unobserved = -1

// Kind describes the kind T.
type Kind[T runtime.Object] struct {
	// Plural and Singular are the names of the resource.
	Plural, Singular schema.GroupResource
	// Version is the version in which managed fields are tracked.
	Version string
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
	// ShortNames and Categories are used by kubectl.
	ShortNames, Categories []string
	// New and NewList return empty objects.
	New     func() T
	NewList func() runtime.Object
	// Spec returns the part of the object whose changes increment generation.
	Spec func(T) any
	// Derived is true for a kind whose spec the server derives from specs of users, which were within their limits
	// when they were written. Its spec has no limits, because existing objects must remain writable when a limit is
	// lowered.
	Derived bool
	// Status is nil for a kind without status.
	Status *Status[T]
	// Scale is nil for a kind without scale subresource.
	Scale *Scale[T]
	// Recreate prepares an object that is recreated after the store was lost and returns true for it. Such an object
	// keeps its generation and the status that Remake leaves. It may be nil.
	Recreate func(obj T) bool
	// PrepareForCreate and PrepareForUpdate set defaults. They are called after the status was cleared or restored
	// and before changes of spec are counted. Both may be nil.
	PrepareForCreate func(obj T)
	PrepareForUpdate func(obj, stored T)
	// Validate and ValidateUpdate return the errors of an invalid object.
	Validate       func(obj T) field.ErrorList
	ValidateUpdate func(obj, stored T) field.ErrorList
	// Warnings returns warnings for the client. It may be nil.
	Warnings func(obj T) []string
	// Table converts objects into table rows.
	Table rest.TableConvertor
	// GetAttrs provides labels and fields for selectors. Nil provides name and namespace only.
	GetAttrs storage.AttrFunc
	// TrueFields are the fields that GetAttrs provides only if they are true. This saves memory, because the watch
	// cache stores the fields of every object and its recent versions.
	TrueFields []string
	// IndexFields are the field selectors that the watch cache indexes. A field should have many different values.
	IndexFields map[string]func(T) string
}

// Status describes how status and spec are separated.
type Status[T runtime.Object] struct {
	// Drop clears the status.
	Drop func(obj T)
	// Keep copies the status of stored into obj.
	Keep func(obj, stored T)
	// KeepSpec copies the spec of stored into obj.
	KeepSpec func(obj, stored T)
	// Validate returns the errors of an invalid status.
	Validate func(obj, stored T) field.ErrorList
}
