// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package similar finds the existing name that is most similar to a name that does not exist.
package similar

import (
	"fmt"
	"strings"
)

// maxName is the maximum length of an object name. Longer names are not compared.
const maxName = 253

// Name returns the name in all that is most similar to name, or the first of several. It returns "" if none is similar.
// At most one third of the characters may be missing, added, replaced or swapped with the next.
func Name(name string, all []string) string {
	best, nearest := "", len(name)/3+1
	for _, other := range all {
		if other == name || len(name) > maxName || len(other) > maxName {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(other), nearest); d < nearest {
			best, nearest = other, d
		}
	}
	return best
}

// Suggestion returns a suggestion for the end of an error message: ", did you mean "x"?", or "" if no name is similar.
func Suggestion(name string, all []string) string {
	if other := Name(name, all); other != "" {
		return fmt.Sprintf(", did you mean %q?", other)
	}
	return ""
}

// distance returns the number of edits that transform a into b (restricted Damerau-Levenshtein distance), or limit if
// it is at least limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
