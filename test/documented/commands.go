// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package documented

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Commands are those of the section below a heading of docs/operations.md, in the project at
// root. A section without any is an error.
func Commands(root, heading string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		return nil, fmt.Errorf("docs/operations.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var all []string
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, strings.TrimSpace(command))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("section %q of docs/operations.md has no commands", heading)
	}
	return all, nil
}
