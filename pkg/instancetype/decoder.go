// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// decodedSize is how many revisions a Decoder remembers: more than there are sizes and
// preferences in use, each of some kilobytes.
const decodedSize = 1024

// Decoder is Decode that remembers. It may be used by several goroutines at once.
type Decoder struct{ known *lru.Cache }

// decodedKey is one state of one revision.
type decodedKey struct {
	uid     types.UID
	version string
}

// NewDecoder returns a Decoder that remembers nothing yet.
func NewDecoder() *Decoder { return &Decoder{known: lru.New(decodedSize)} }

// Decode is the function of that name. It keeps revision, which must not be changed.
func (d *Decoder) Decode(revision *itv1alpha1.ControllerRevision) *Captured {
	if revision.UID == "" { // not stored
		return Decode(revision)
	}
	key := decodedKey{revision.UID, revision.ResourceVersion}
	if known, ok := d.known.Get(key); ok {
		return known.(*Captured)
	}
	captured := Decode(revision)
	d.known.Add(key, captured)
	return captured
}
