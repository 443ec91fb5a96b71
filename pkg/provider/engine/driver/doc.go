// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package driver is what the engine asks of one hypervisor: to observe, to name
// differences, and to make operations. A driver decides nothing.
//
// Guarantees that every driver gives:
//
//  1. What is said from memory (Look, Observe, Compare, Refused and the making of
//     operations) asks nothing of the hypervisor and does not block.
//  2. Look says Absent only after a complete reading in which neither the unique
//     ID, nor the instance UUID, nor the owner named a virtual machine. One that is
//     named and cannot be read exists.
//  3. A Machine is a value: what it says does not change. An operation that was made
//     of it decides by what the hypervisor says when it runs, wherever being wrong
//     would touch what is not ours or what cannot be made again.
//  4. An operation ends when its context does. If the cause of that is ErrLeave, it
//     leaves alone what the hypervisor works on, which the next process finds.
package driver
