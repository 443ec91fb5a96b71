// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package documented

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Operate is the directory of the pages for operators in the project.
const Operate = "docs/how-to/operate/"

// Commands returns the command lines in the fenced console and sh blocks of a section. page is the path of the page in
// the project at root, and heading the heading of the section with its number signs. A section without commands is an error.
func Commands(root, page, heading string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var all []string
	for _, b := range Blocks(section, "console", "sh") {
		for line := range strings.Lines(b.Text) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("section %q of %s has no commands", heading, page)
	}
	return all, nil
}

// Block is a fenced block.
type Block struct {
	// Line is the line of the block's opening fence, from 1.
	Line int
	// Text has the lines between the fences.
	Text string
}

// Blocks returns the fenced blocks of a Markdown text that have one of the languages.
func Blocks(text string, languages ...string) []Block {
	var all []Block
	fenced, wanted := false, false
	for i, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && !fenced:
			fenced, wanted = true, slices.Contains(languages, language)
			if wanted {
				all = append(all, Block{Line: i + 1})
			}
		case fence:
			fenced, wanted = false, false
		case wanted:
			all[len(all)-1].Text += line + "\n"
		}
	}
	return all
}
