// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package driver defines the interface between the engine and one hypervisor: a driver observes, computes differences
// and creates operations. It makes no decisions.
//
// Every driver guarantees:
//
//  1. Observe, Compare, CheckDesired and the methods that return operations use the inventory in memory. They send no
//     requests to the hypervisor and do not block.
//  2. Driver.Observe returns Absent only after a complete read in which no virtual machine has the unique ID, the
//     instance UUID or the owner. A virtual machine that was found but cannot be read exists.
//  3. A Machine is an immutable value. An operation of a Machine uses the current state of the hypervisor when it runs,
//     if outdated data could damage other virtual machines or cause a loss of data.
//  4. An operation ends when its context is done. If the cause is ErrLeave, it does not cancel the hypervisor's tasks;
//     the next process finds them.
package driver
