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

// Unobserved is the status.observedGeneration of an object that no controller has looked at
// yet. Without it tools that follow the kstatus convention take one for complete.
const Unobserved = -1

// Kind says what is particular about the kind T.
type Kind[T runtime.Object] struct {
	// Plural and Singular are the names of the resource.
	Plural, Singular schema.GroupResource
	// Version is the version in which managed fields are tracked.
	Version string
	// Namespaced is false for kinds of the cluster.
	Namespaced bool
	// ShortNames and Categories are for kubectl.
	ShortNames, Categories []string
	// New and NewList return empty objects.
	New     func() T
	NewList func() runtime.Object
	// Spec returns what generation counts the changes of.
	Spec func(T) any
	// Derived is true for a kind whose spec the server itself makes, of objects whose
	// specs were within their bounds when users wrote them. It has no bounds of its own:
	// what was stored before a bound became narrower must still be written.
	Derived bool
	// Status is nil for a kind without one.
	Status *Status[T]
	// Scale is nil for a kind without such a subresource.
	Scale *Scale[T]
	// Remake is true for an object that is created again after it was lost with the store,
	// which keeps its generation, and of its status what Remake has left. It may be nil.
	Remake func(obj T) bool
	// PrepareForCreate and PrepareForUpdate complete what is to be stored: after status
	// was dropped or kept, before changes of spec are counted. Both may be nil.
	PrepareForCreate func(obj T)
	PrepareForUpdate func(obj, stored T)
	// Validate and ValidateUpdate refuse bad objects.
	Validate       func(obj T) field.ErrorList
	ValidateUpdate func(obj, stored T) field.ErrorList
	// Warnings may be nil.
	Warnings func(obj T) []string
	// Table makes the columns.
	Table rest.TableConvertor
	// GetAttrs adds field selectors. Nil gives name and namespace only.
	GetAttrs storage.AttrFunc
	// TrueFields are those of GetAttrs that are there only when they are true: the watch cache
	// keeps what GetAttrs returns of every object and of its recent versions.
	TrueFields []string
	// IndexFields are those field selectors by which the watch cache is indexed. They
	// should have many values, of which one is asked for.
	IndexFields map[string]func(T) string
}

// Status says how the two halves of an object are kept apart.
type Status[T runtime.Object] struct {
	// Drop empties the status.
	Drop func(obj T)
	// Keep copies the status of stored into obj.
	Keep func(obj, stored T)
	// KeepSpec copies the spec of stored into obj.
	KeepSpec func(obj, stored T)
	// Validate refuses a bad status.
	Validate func(obj, stored T) field.ErrorList
}
