// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command imports-table writes the table of allowed imports into the document that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/slipway-dev/slipway/test/imports"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "imports-table:", err)
		os.Exit(1)
	}
}

// write replaces the table in the given document.
func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("requires the path of one document, got %q", args)
	}
	old, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	document, err := imports.Document(string(old))
	if err != nil {
		return fmt.Errorf("writing the table into %s: %w", args[0], err)
	}
	return os.WriteFile(args[0], []byte(document), 0o644)
}
