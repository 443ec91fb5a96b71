// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxSharedFieldSets bounds the field sets that are known at a time. Those of one kind
// and manager are mostly the same, so that a few hundred are in use; sets that name a
// single object, by the UID of an owner for example, come and go.
const maxSharedFieldSets = 4096

// sharingCodec is a codec whose decoded objects share the field sets of their managed
// fields. These are a third of an object and the same for most objects of a kind, of
// which the watch cache holds every one and its recent versions.
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
	if accessor, err := meta.Accessor(obj); err == nil { // a list, for example, has none
		entries := accessor.GetManagedFields()
		for i := range entries {
			entries[i].FieldsV1 = c.sets.shared(entries[i].FieldsV1)
		}
	}
	return obj, kind, nil
}

// fieldSets keeps one copy of each field set. The zero value is ready for use.
type fieldSets struct {
	mu    sync.Mutex
	known map[string]*metav1.FieldsV1
}

// shared returns a set equal to set that must not be changed. Nobody does: who changes
// managed fields parses them and makes new ones. A nil set is its own.
func (s *fieldSets) shared(set *metav1.FieldsV1) *metav1.FieldsV1 {
	if set == nil {
		return nil
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
