// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"sync"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxSharedFieldSets bounds the field sets that are known at a time. Those of one kind
// and manager are mostly the same, so that a few hundred are in use; sets that name a
// single object, by the UID of an owner for example, come and go.
const maxSharedFieldSets = 4096

// maxSharedFieldSet is how many bytes a set may have that is known. A larger one is hardly
// that of a second object, and somebody who writes many names into an object, other ones
// with each update, would fill the memory with those of all its versions.
const maxSharedFieldSet = 8 << 10

// sharingCodec is a codec whose decoded objects share what is the same in most of them
// and makes more than a third of each: the managed fields, and the words of conditions and
// metadata.
// The watch cache holds every object and its recent versions.
type sharingCodec struct {
	runtime.Codec
	sets fieldSets
}

// Decode implements runtime.Decoder.
func (c *sharingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if err != nil {
		return obj, kind, err
	}
	// What an object is follows from its Go type. Kept in each, it would cost memory, and
	// lists, whose items are sent as they are, would repeat it.
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if accessor, err := meta.Accessor(obj); err == nil { // a list, for example, has none
		entries := exact(accessor.GetManagedFields())
		accessor.SetManagedFields(entries)
		namespace := accessor.GetNamespace()
		share(&namespace)
		accessor.SetNamespace(namespace)
		finalizers := accessor.GetFinalizers()
		for i := range finalizers {
			share(&finalizers[i])
		}
		for i := range entries {
			e := &entries[i]
			e.FieldsV1 = c.sets.shared(e.FieldsV1)
			share(&e.Manager)
			share(&e.Operation)
			share(&e.APIVersion)
			share(&e.FieldsType)
			share(&e.Subresource)
		}
	}
	writeAmounts(obj)
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachine:
		o.Status.Conditions = sharedConditions(o.Status.Conditions)
	case *vmv1alpha1.VirtualMachineInstance:
		o.Status.Conditions = sharedConditions(o.Status.Conditions)
	}
	return obj, kind, nil
}

// writeAmounts gives every amount of obj its text. An amount that has none makes it when
// it is first asked for it, by an encoder, for example, and keeps it, which is a write into
// an object that others read at the same time. The size of an object in protobuf takes
// the texts of all its amounts.
func writeAmounts(obj runtime.Object) {
	if o, ok := obj.(interface{ Size() int }); ok {
		o.Size()
	}
}

// share makes s one of the equal strings that share their memory.
func share[S ~string](s *S) { *s = S(unique.Make(string(*s)).Value()) }

// exact is s without room for more, which a decoder leaves that appends.
func exact[T any](s []T) []T {
	if cap(s) == len(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// sharedConditions are conditions without room for more, which share their words.
func sharedConditions(conditions []metav1.Condition) []metav1.Condition {
	conditions = exact(conditions)
	for i := range conditions {
		c := &conditions[i]
		share(&c.Type)
		share(&c.Status)
		share(&c.Reason)
	}
	return conditions
}

// fieldSets keeps one copy of each field set. The zero value is ready for use.
type fieldSets struct {
	mu    sync.Mutex
	known map[string]*metav1.FieldsV1
}

// shared returns a set equal to set that must not be changed. Nobody does: who changes
// managed fields parses them and makes new ones. No set, and a large one, are their own.
func (s *fieldSets) shared(set *metav1.FieldsV1) *metav1.FieldsV1 {
	if set == nil || len(set.GetRawBytes()) > maxSharedFieldSet {
		return set
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[string(set.GetRawBytes())]; ok {
		return known
	}
	if s.known == nil || len(s.known) >= maxSharedFieldSets {
		// What is in use all the time is soon there again.
		s.known = map[string]*metav1.FieldsV1{}
	}
	s.known[set.GetRawString()] = set
	return set
}
