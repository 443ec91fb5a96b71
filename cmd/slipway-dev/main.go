// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slipway-dev runs a complete Slipway environment on this machine.
package main

import (
	"os"

	"github.com/slipway-dev/slipway/cmd/slipway-dev/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdout, os.Stderr))
}
