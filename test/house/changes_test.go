// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// backquoted matches text between backquotes in a document.
var backquoted = regexp.MustCompile("`([^`]+)`")

// paths returns the paths of this repository that a text names.
func paths(text string) []string {
	var all []string
	for _, match := range backquoted.FindAllStringSubmatch(text, -1) {
		for word := range strings.FieldsSeq(match[1]) {
			word = strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/...")
			if top, _, ok := strings.Cut(word, "/"); ok && slices.Contains([]string{"artifacts", "cmd", "docs", "hack", "pkg", "test"}, top) {
				all = append(all, word)
			}
		}
	}
	return all
}

func TestContributing_NamesPathsThatExist(t *testing.T) {
	for name, least := range map[string]int{"changes.md": 20, "map.md": 50} {
		text, err := os.ReadFile("../../docs/contributing/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| ") {
				continue
			}
			named := paths(line)
			if len(named) > 0 {
				rows++
			}
			for _, path := range named {
				if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
					t.Errorf("%s names %s, which does not exist", name, path)
				}
			}
		}
		if rows < least {
			t.Errorf("%s has %d rows with paths, want at least %d", name, rows, least)
		}
	}
}
