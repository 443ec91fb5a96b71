// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease holds Leases of the management cluster for a process. Each Lease has its own election. Leases divide the
// work that only one process may do at a time.
//
// Guarantees:
//
//  1. A Lease counts as held until Withdraw or Close, also while it cannot be renewed: its fence decides whether the process
//     may act. If another process has held the Lease in between, Options.Fail is called, because the state of this process
//     is out of date.
//  2. A Lease is released by Withdraw and Close only. They must be called after all work under the Lease has ended.
//  3. A process that already holds shared Leases waits before it acquires another free Lease. The wait affects which
//     process acquires the Lease, not whether it is acquired.
package lease
