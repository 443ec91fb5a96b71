// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package availability tests what becomes of the controllers when their process is stopped
// for a while, when the host cluster is away, when there is more than one of them, and when
// they are told to use another vCenter, on the programs as a user has them.
//
// Each test has an environment of its own, for it stops parts of it. Tests wait for
// conditions with a deadline and assert no durations.
package availability
