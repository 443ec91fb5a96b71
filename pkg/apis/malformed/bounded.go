// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package malformed

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxNesting is how many lists and objects may be within each other. Ours have about
	// 15, those of managed fields included. A merge patch is encoded anew for each of them.
	maxNesting = 32
	// maxListed is how many items a list may have; none of ours may have more than 512.
	// Merging two lists by a key of their items takes the square of it.
	maxListed = 1024
)

// Bounded returns the first place of a patch, in JSON, at which merging it would cost more
// than reading it does, or nil. What is no JSON is not its business.
func Bounded(patch []byte) *field.Error {
	var content any
	if json.Unmarshal(patch, &content) != nil {
		return nil
	}
	return bounded(content, nil, 0)
}

func bounded(content any, path *field.Path, depth int) *field.Error {
	if depth > maxNesting {
		return field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("may have at most %d lists and objects within each other", maxNesting))
	}
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			if err := bounded(content[name], path.Child(name), depth+1); err != nil {
				return err
			}
		}
	case []any:
		if len(content) > maxListed {
			return field.TooMany(path, len(content), maxListed)
		}
		for i, item := range content {
			if err := bounded(item, path.Index(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
