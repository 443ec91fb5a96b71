// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-controller-manager replaces kube-controller-manager in tests.
package main

import "os"

var version = "unstamped"

func main() { _, _ = os.Stdout.WriteString("version " + version + "\n") }
