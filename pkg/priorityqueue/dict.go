// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "maps"

// keptEntries is the number of entries whose memory a dict keeps.
const keptEntries = 1024

// dict is a map that releases memory when it becomes small. A Go map does not.
type dict[K comparable, V any] struct {
	entries map[K]V
	// peak is the largest number of entries since entries was allocated.
	peak int
}

func newDict[K comparable, V any]() dict[K, V] { return dict[K, V]{entries: map[K]V{}} }

func (d *dict[K, V]) set(key K, value V) {
	d.entries[key] = value
	d.peak = max(d.peak, len(d.entries))
}

// remove removes a key. If less than a quarter of a large map is left, it copies
// the rest, so that a removal takes constant time on average.
func (d *dict[K, V]) remove(key K) {
	delete(d.entries, key)
	if d.peak > keptEntries && 4*len(d.entries) < d.peak {
		rest := make(map[K]V, len(d.entries))
		maps.Copy(rest, d.entries)
		d.entries, d.peak = rest, len(rest)
	}
}
