// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence prevents a process that may have lost a Lease from acting.
//
// A process that was stopped for some time (a stunned virtual machine, a frozen cgroup, a suspended laptop) does not know
// that another process has acquired its Lease until it reads the Lease. A Fence is therefore closed by time alone.
//
// Guarantees:
//
//  1. A Fence is open for at most its limit, measured from the moment before the last successful renewal was sent. Other
//     processes count from a later moment and for longer than the limit, so that two fences of one Lease are never open at
//     the same time.
//  2. The elapsed time is the longer one of the monotonic and the wall clock: the first stops while a machine is suspended,
//     the second can be set back.
//  3. After another holder of the Lease was observed, the Fence stays closed, even if this process acquires the Lease again:
//     its state may be older than the work of the other process.
//  4. Waiting callers continue when the Lease is renewed, and return an error when the Fence is closed for good. A nil Fence
//     is open.
//  5. Each Lease has its own Fence. The context of a request decides which Fence applies.
//
// A check is not a guarantee: a process can be stopped between the check and the action.
package fence
