// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
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
		for _, entry := range accessor.GetManagedFields() {
			if entry.FieldsV1 != nil {
				entry.FieldsV1.Raw = c.sets.shared(entry.FieldsV1.Raw)
			}
		}
	}
	return obj, kind, nil
}

// fieldSets keeps one copy of each field set. The zero value is ready for use.
type fieldSets struct {
	mu    sync.Mutex
	known map[string][]byte
}

// shared returns a copy of raw that must not be changed. Nobody does: who changes field
// sets parses them and writes new ones.
func (s *fieldSets) shared(raw []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[string(raw)]; ok {
		return known
	}
	if s.known == nil || len(s.known) >= maxSharedFieldSets {
		// What is in use all the time is soon there again.
		s.known = map[string][]byte{}
	}
	s.known[string(raw)] = raw
	return raw
}
