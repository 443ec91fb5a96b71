// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the programs of a local environment as child processes.
//
// Guarantees:
//   - A child has its own process group. Ctrl-C in the terminal reaches only the parent, which decides the order of
//     shutdown.
//   - On Linux a child is signalled when its parent dies for any reason.
//   - Stop ends the whole group and waits for the child: no process, zombie or port is left.
//   - The output goes to a log file. If a child ends early, the error contains the last lines of its log.
package process
