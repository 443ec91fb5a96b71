// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence keeps a process that may have lost a Lease from acting.
//
// A process that was stopped for a while (a stunned virtual machine, a frozen cgroup, a
// suspended laptop) does not know that another one has taken its Lease: it learns that
// only when it has asked. A Fence is therefore closed by time alone.
//
// Guarantees:
//
//  1. A Fence is open for no longer than its limit after the moment at which the last
//     request that renewed the Lease was about to be sent. Who waits for the Lease to run
//     out counts from a later moment and for longer than the limit, so that two fences of
//     one Lease are never open at once.
//  2. The time that passed is the longer one of the monotonic and the wall clock: the
//     first stands still while a machine is suspended, the second may be set back.
//  3. Once another holder of the Lease was seen the Fence stays closed, also when the
//     Lease comes back: what this process knows may be of before the other one's work.
//  4. What waits goes on by itself when the Lease is renewed, and ends when the Fence is
//     closed for good. A nil Fence is open.
//  5. There is a Fence for each Lease. Which one holds for a request its context says.
//
// A check is no promise: a process may be stopped between the check and what it allows.
package fence
