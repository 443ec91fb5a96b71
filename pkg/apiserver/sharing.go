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

// maxSharedFieldSets limits the number of shared field sets. The field sets of one kind and manager are mostly equal,
// so a few hundred are in use. Field sets that contain a single object's values, such as an owner's UID, are
// short-lived.
const maxSharedFieldSets = 4096

// maxSharedFieldSet is the maximum size in bytes of a shared field set. A larger set is rarely equal to that of
// another object. Without this limit a user who changes many field names with each update could fill the memory.
const maxSharedFieldSet = 8 << 10

// sharingCodec is a codec whose decoded objects share memory for values that most objects have in common: managed
// fields, and strings of conditions and metadata. These are more than a third of each object. The watch cache stores
// every object and its recent versions.
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
	// The kind follows from the Go type. Stored in each object it would use memory, and it would be repeated for each
	// item of a list.
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if accessor, err := meta.Accessor(obj); err == nil { // lists have no object metadata
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

// writeAmounts computes the text of every quantity in obj. A quantity stores its text when it is first needed, for
// example by an encoder. That would modify an object that other goroutines read. Computing the protobuf size computes
// the texts of all quantities.
func writeAmounts(obj runtime.Object) {
	if o, ok := obj.(interface{ Size() int }); ok {
		o.Size()
	}
}

// share replaces s by a shared copy of the same string.
func share[S ~string](s *S) { *s = S(unique.Make(string(*s)).Value()) }

// exact returns s without the spare capacity that a decoder leaves.
func exact[T any](s []T) []T {
	if cap(s) == len(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

// sharedConditions returns conditions without spare capacity and with shared strings.
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

// fieldSets stores one copy of each field set. The zero value is ready for use.
type fieldSets struct {
	mu    sync.Mutex
	known map[string]*metav1.FieldsV1
}

// shared returns a field set equal to set. The result must not be modified; code that changes managed fields parses
// them and creates new ones. A nil set and a large set are returned unchanged.
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
		// Field sets in frequent use are soon added again.
		s.known = map[string]*metav1.FieldsV1{}
	}
	s.known[set.GetRawString()] = set
	return set
}
