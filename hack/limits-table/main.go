// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command limits-table writes the limits of background work into the document that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/slipway-dev/slipway/test/house"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: limits-table DOCUMENT")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(house.Document()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "limits-table:", err)
		os.Exit(1)
	}
}
