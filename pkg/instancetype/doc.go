// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instancetype resolves instance types and preferences: which one a virtual machine uses and in which revision,
// the resulting effective spec, the differences to the running virtual machine, and the result of a refresh or an
// expansion. The controller, the API server's subresources and admission use it, so that they agree.
//
// The package guarantees:
//
//  1. Only Gather, GatherForCapture, GatherForRefresh, Adopt and Admit read objects, through the caller's Reader. All other
//     functions are pure. Nothing is written and arguments are never changed.
//  2. References are compared by their meaning (role, scope, name). The spelling of kind does not matter.
//  3. A virtual machine keeps the revision in its status until its reference changes to another object, its spec specifies
//     another revision, or a refresh clears it. It never changes to a newer generation automatically, even if the
//     revision is lost.
//  4. A refused refresh changes nothing.
//  5. A failed read is never treated as a missing object.
//
// Instance types and preferences follow the same rules. The code represents them as two roles.
package instancetype
