// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package malformed

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Counts returns an error if a document, in JSON or YAML, has more entries than an object may have. It must be
// called before the document is decoded: an entry of 2 bytes takes a hundred bytes of memory then, and
// microseconds in each later step. Counts reads each byte once and builds nothing.
func Counts(document []byte) error {
	if !json.Valid(document) {
		if n := bytes.Count(document, []byte("\n")) + bytes.Count(document, []byte(",")); n > maxLines {
			return fmt.Errorf("a document in YAML must have at most %d lines and commas", maxLines)
		}
		return nil
	}
	entries, fields := 0, 0
	var inList []bool // for each list and object that is open
	for i := 0; i < len(document); i++ {
		switch c := document[i]; c {
		case '"':
			for i++; document[i] != '"'; i++ {
				if document[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			inList = append(inList, c == '[')
		case ']', '}':
			inList = inList[:len(inList)-1]
		}
		if c := document[i]; c != ',' && c != '[' && c != '{' {
			continue
		}
		if inList[len(inList)-1] {
			entries++
		} else {
			fields++
		}
		if entries > MaxEntries {
			return ErrEntries
		}
		if fields > maxFields {
			return fmt.Errorf("an object must have at most %d fields", maxFields)
		}
	}
	return nil
}
