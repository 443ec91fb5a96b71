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
	// MaxEntries is how many entries all lists of an object may have together. The largest object has about
	// 3,000: a group with 512 members and their conditions.
	MaxEntries = 8192
	// maxFields is how many fields an object may have in JSON, those in managedFields included. An object of
	// the largest size has fewer.
	maxFields = 64 << 10
	// maxLines is how many lines and commas a document in YAML may have, which is what separates its entries.
	maxLines = 32 << 10
)

// ErrEntries is returned for an object whose lists have more than MaxEntries entries.
var ErrEntries = fmt.Errorf("the lists of an object must have at most %d entries together", MaxEntries)

var errFields = fmt.Errorf("an object must have at most %d fields", maxFields)

// maxPath is how many lists and objects the path in an error of Counts has.
const maxPath = 16

// Counts returns an error if a document, in JSON or YAML, has more entries than an object may have. That of JSON
// names the list that exceeds it. Counts must be called before the document is decoded: an entry of 2 bytes takes
// a hundred bytes of memory then, and microseconds in each later step. Counts reads each byte once and builds
// nothing.
func Counts(document []byte) error {
	if !json.Valid(document) {
		if n := bytes.Count(document, []byte("\n")) + bytes.Count(document, []byte(",")); n > maxLines {
			return fmt.Errorf("a document in YAML must have at most %d lines and commas", maxLines)
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
			return at(open, ErrEntries)
		}
		if fields > maxFields {
			return at(open, errFields)
		}
	}
	return nil
}

// container is a list or an object that is open, with the place in it that was reached.
type container struct {
	list  bool
	index int
	key   []byte // as it is in the document
}

// at returns err with the place of the innermost list or object, without what is too deep.
func at(open []container, err error) error {
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
