// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slipway-dev replaces slipway-dev in tests.
package main

func main() {}
