// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command virtctl replaces virtctl in tests.
package main

import "fmt"

var version = "unstamped"

func main() { fmt.Println("Client:", version) }
