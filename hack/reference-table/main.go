// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reference-table writes a generated document of docs/reference: limits.md, conditions.md or flags.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-dev/slipway/test/house"
	"github.com/slipway-dev/slipway/test/reasons"
	"github.com/slipway-dev/slipway/test/serverflags"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference-table:", err)
		os.Exit(1)
	}
}

// write writes the one document that is given.
func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("requires the path of one document, got %q", args)
	}
	document, ok := map[string]func() string{"limits.md": house.Document, "conditions.md": reasons.Document, "flags.md": serverflags.Document}[filepath.Base(args[0])]
	if !ok {
		return fmt.Errorf("%q is not a generated document; known are limits.md, conditions.md and flags.md", args[0])
	}
	return os.WriteFile(args[0], []byte(document()), 0o644)
}
