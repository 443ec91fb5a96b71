// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of slipway-dev.
//
// Guarantees:
//   - An error is one clear line on standard error, followed by the end of the log of
//     the program that failed, if one did; the exit status is 1 then.
//   - Ctrl-C and SIGTERM end everything that was started, in order.
//   - A second run goes on with the state of the first. The quick start is applied by
//     the first run only, so that later changes to it are kept.
package app
