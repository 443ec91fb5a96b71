// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the programs of a local environment as children.
//
// Guarantees:
//   - A child has its own process group, so that a Ctrl-C in the terminal reaches
//     the parent alone and the parent decides on the order of the end.
//   - On Linux a child is signalled when its parent dies, however it dies.
//   - Stop ends the whole group and returns when the child was waited for: no
//     process, zombie or port of it is left.
//   - The output goes to a log file; a child that ends early is reported with the
//     last lines of it.
package process
