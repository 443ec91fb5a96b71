// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions reads and writes conditions in the status of objects.
//
// Guarantees:
//
//  1. A condition that is set is read back unchanged. Times are in UTC and have whole seconds, as in
//     the serialized form.
//  2. The transition time changes only if the status changes.
//  3. KeepTimes extends this guarantee to conditions that were removed and set again since the object
//     was read.
//  4. A message is one line of at most MaxMessage bytes of valid UTF-8. A message can therefore not
//     prevent a status update.
package conditions
