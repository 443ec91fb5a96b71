// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package malformed

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// MaxEntries is the maximum number of entries of all lists of an object. The largest object has about 3,000: a group
	// with 512 members and their conditions.
	MaxEntries = 8192
	// maxFields is the maximum number of fields of an object in JSON, including those in managedFields. An object of the
	// maximum size has fewer.
	maxFields = 64 << 10
	// maxLines is the maximum number of line feeds and commas, which separate entries, in a YAML document.
	maxLines = 32 << 10
)

// ErrEntries is returned for an object whose lists have more than MaxEntries entries.
var ErrEntries = fmt.Errorf("the lists of an object must have at most %d entries in total", MaxEntries)

var errFields = fmt.Errorf("an object must have at most %d fields", maxFields)

// maxPath is the maximum number of elements of the path in an error of Counts.
const maxPath = 16

// CheckEntryCount returns an error if a JSON or YAML document has more entries than an object can have. For JSON, the error
// contains the path of the list that exceeds the limit. Counts must be called before the document is decoded: decoding
// an entry of 2 bytes takes a hundred bytes of memory, and each later step takes microseconds. Counts reads each byte
// once and does not allocate objects.
func CheckEntryCount(document []byte) error {
	if !json.Valid(document) {
		if n := bytes.Count(document, []byte("\n")) + bytes.Count(document, []byte(",")); n > maxLines {
			return fmt.Errorf("a YAML document must have at most %d lines and commas", maxLines)
		}
		return nil
	}
	entries, fields := 0, 0
	var open []container
	awaitsKey := false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; c {
		case '"':
			start := i
			for i++; document[i] != '"'; i++ {
				if document[i] == '\\' {
					i++
				}
			}
			if awaitsKey {
				open[len(open)-1].key, awaitsKey = document[start:i+1], false
			}
		case '[', '{':
			open, awaitsKey = append(open, container{list: c == '['}), c == '{'
		case ',':
			in := &open[len(open)-1]
			in.index++
			awaitsKey = !in.list
		case ']', '}':
			open, awaitsKey = open[:len(open)-1], false
		}
		if c := document[i]; c != ',' && c != '[' && c != '{' {
			continue
		}
		if open[len(open)-1].list {
			entries++
		} else {
			fields++
		}
		if entries > MaxEntries {
			return withPath(open, ErrEntries)
		}
		if fields > maxFields {
			return withPath(open, errFields)
		}
	}
	return nil
}

// container is an open list or object and the current position in it.
type container struct {
	list  bool
	index int
	key   []byte // in its JSON encoding
}

// withPath returns err with the path of the innermost list or object, truncated to maxPath elements.
func withPath(open []container, err error) error {
	var path *field.Path
	for _, in := range open[:min(len(open)-1, maxPath)] {
		if in.list {
			path = path.Index(in.index)
			continue
		}
		var key string
		_ = json.Unmarshal(in.key, &key) // the document is valid
		path = path.Child(fmt.Sprintf("%.64s", key))
	}
	if path == nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
