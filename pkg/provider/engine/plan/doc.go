// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what happens next to a virtual machine that exists: which
// conditions hold, and at most one operation.
//
// Guarantees:
//
//  1. Every function is pure: what was observed, how the last operation ended and the
//     time are part of the input.
//  2. The steps run in the order of the specification: schema upgrade, status, backup,
//     configuration, power state, disk promotion; a revert to a snapshot comes after the
//     backup. The first operation ends the plan, and so does a revert whose object is not
//     restored yet.
//  3. A NoRequeueError ends the plan, except one of the configuration of a virtual
//     machine that has run: it is powered on, suspended and restarted with what it has.
//     Other errors are collected.
//  4. PowerStateSynced is set by every plan and every report, whichever step ends it.
//  5. Nothing loops: an operation that has failed is tried again after a pause that
//     grows, and so is one that has succeeded and is planned again all the same. Both
//     are reported.
package plan
