// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package documented

import (
	"fmt"
	"os"
	"path/filepath"
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
	isCommand := false
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		switch {
		case line == "```console" || line == "```sh":
			isCommand = true
		case strings.HasPrefix(line, "```"):
			isCommand = false
		case isCommand && line != "":
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("section %q of %s has no commands", heading, page)
	}
	return all, nil
}
