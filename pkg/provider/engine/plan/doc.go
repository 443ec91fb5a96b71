// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides the next action for a virtual machine that exists: its conditions, and at most one operation.
//
// The package guarantees:
//
//  1. Every function is pure. The observation, earlier outcomes and the time are part of the input.
//  2. The steps run in the order of the specification: schema upgrade, status, backup, configuration, power state, disk
//     promotion. A revert to a snapshot follows the backup. The plan ends with the first operation, and with a revert
//     whose object is not restored yet.
//  3. A NoRequeueError ends the plan, with one exception: if the configuration of a virtual machine that has run is
//     refused, it can still be powered on, suspended and restarted. Other errors are collected.
//  4. Every plan and every report sets PowerStateSynced, even if an earlier step ends the plan.
//  5. There are no busy loops. A failed operation is retried with increasing delays. The same applies to an operation
//     that has succeeded and is planned again. Both are reported.
package plan
