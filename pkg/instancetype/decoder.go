// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// decodedSize is the capacity of a Decoder's cache. It exceeds the usual number of instance types and preferences in
// use. Each entry has a few kilobytes.
const decodedSize = 1024

// Decoder is a cache for Decode. It is safe for concurrent use.
type Decoder struct{ cache *lru.Cache }

// decodedKey identifies a version of a revision.
type decodedKey struct {
	uid     types.UID
	version string
}

// NewDecoder returns a Decoder with an empty cache.
func NewDecoder() *Decoder { return &Decoder{cache: lru.New(decodedSize)} }

// Decode is like the function Decode. It retains revision, which must not be changed.
func (d *Decoder) Decode(revision *itv1alpha1.ControllerRevision) *DecodedRevision {
	if revision.UID == "" { // the revision is not stored in the API
		return Decode(revision)
	}
	key := decodedKey{revision.UID, revision.ResourceVersion}
	if known, ok := d.cache.Get(key); ok {
		return known.(*DecodedRevision)
	}
	captured := Decode(revision)
	d.cache.Add(key, captured)
	return captured
}
