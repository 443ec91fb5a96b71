// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// backquoted matches what a document has between backquotes.
var backquoted = regexp.MustCompile("`([^`]+)`")

func TestChanges_NamePathsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/contributing/changes.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "---") || cells[0] == " change " {
			continue
		}
		rows++
		paths := 0
		for _, path := range backquoted.FindAllStringSubmatch(cells[1], -1) {
			if !strings.Contains(path[1], "/") {
				continue
			}
			paths++
			if _, err := os.Stat(filepath.Join("../..", path[1])); err != nil {
				t.Errorf("%s: %s does not exist", strings.TrimSpace(cells[0]), path[1])
			}
		}
		if paths == 0 {
			t.Errorf("%s: no path is named", strings.TrimSpace(cells[0]))
		}
		for _, command := range backquoted.FindAllStringSubmatch(cells[2], -1) {
			for _, word := range strings.Fields(command[1]) {
				if path, ok := strings.CutPrefix(word, "./"); ok {
					if _, err := os.Stat(filepath.Join("../..", strings.TrimSuffix(path, "..."))); err != nil {
						t.Errorf("%s: the command names %s, which does not exist", strings.TrimSpace(cells[0]), word)
					}
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d changes are described, want at least 20", rows)
	}
}
