// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions reads and writes the conditions in the status of our kinds.
//
// What it guarantees:
//
//  1. A condition that is set is the one that is read back: times have whole seconds
//     in UTC, as on the wire, so that an object that was read never differs from the
//     one that was written.
//  2. The transition time changes with the status of a condition only.
//  3. KeepTimes makes that hold for conditions that were taken away and set again since
//     the object was read.
//  4. A message is one line of at most MaxMessage bytes of valid UTF-8, whatever an
//     error says, so that no message is the reason why a status cannot be written.
package conditions
