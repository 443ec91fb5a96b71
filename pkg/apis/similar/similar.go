// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package similar finds the name that a user has probably meant by a name that does not exist.
package similar

import (
	"fmt"
	"strings"
)

// maxName is the length of the longest name of an object. Longer names have no similar ones.
const maxName = 253

// Name returns the name in all that is most similar to name, the first of several. It returns "" if none is
// similar: at most one character in three may be missing, added, replaced or swapped with the next.
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

// Hint returns the end of a message about a name that does not exist: ", did you mean "x"?", or "" without a
// similar name.
func Hint(name string, all []string) string {
	if other := Name(name, all); other != "" {
		return fmt.Sprintf(", did you mean %q?", other)
	}
	return ""
}

// distance returns the number of edits that make b of a (the restricted distance of Damerau and Levenshtein), or
// limit if there are as many or more.
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
