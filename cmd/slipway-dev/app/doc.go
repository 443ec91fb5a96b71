// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of slipway-dev.
//
// Guarantees:
//   - An error is one line on standard error, followed by the end of the failed program's log, if any.
//     The exit status is 1.
//   - Ctrl-C and SIGTERM stop all started programs in order.
//   - A later run continues with the existing state. Only the first run applies the quick start, so
//     that later changes to it are kept.
package app
