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
	// maxNesting is the maximum nesting depth of lists and objects. API objects have about 15 levels, including managed
	// fields. Applying a merge patch encodes the content once for each level.
	maxNesting = 32
	// maxListed is the maximum number of items of a list. Lists of API objects have at most 512. The cost of merging two
	// lists by key grows with the square of their length.
	maxListed = 1024
)

// FindExpensivePatch returns an error for the first part of a JSON patch that would be too expensive to merge, or nil. It ignores
// a patch that is not valid JSON.
func FindExpensivePatch(patch []byte) *field.Error {
	var content any
	if json.Unmarshal(patch, &content) != nil {
		return nil
	}
	return findExpensive(content, nil, 0)
}

func findExpensive(content any, path *field.Path, depth int) *field.Error {
	if depth > maxNesting {
		return field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must not have more than %d levels of nested lists and objects", maxNesting))
	}
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			if err := findExpensive(content[name], path.Child(name), depth+1); err != nil {
				return err
			}
		}
	case []any:
		if len(content) > maxListed {
			return field.TooMany(path, len(content), maxListed)
		}
		for i, item := range content {
			if err := findExpensive(item, path.Index(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
