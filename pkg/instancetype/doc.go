// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instancetype decides everything about instance types and
// preferences: which one a virtual machine uses and in which revision, what
// effective spec follows, what differs from the running virtual machine, and
// what a refresh or an expansion would do. The controller, the API server's
// subresources and admission all call it, so that they agree.
//
// Guarantees:
//
//  1. Gather does all reading, through the Reader that the caller passes; all else
//     is pure over what was gathered. No clients, no clock, no writes, and arguments
//     are never changed.
//  2. References are compared by what they mean (role, scope, name), never by
//     how they are spelt: another letter case of kind changes nothing.
//  3. A virtual machine keeps its captured revision until its reference means
//     another object, a pin says otherwise, or a refresh cleared it. It never
//     moves to a newer generation by itself, also when the revision is lost.
//  4. A refused refresh changes nothing.
//  5. "Could not read" is never taken for "is not there".
//
// Instance types and preferences follow the same rules; the code knows them as
// the two roles.
package instancetype
