// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operation runs what waits for the hypervisor away from the workers.
//
// Guarantees:
//
//  1. At most one operation runs per virtual machine.
//  2. At most Options.CreateSlots creates run at once. Who was refused is
//     called, by priority and then in order of refusal, as slots become free:
//     nobody polls. A slot that was offered is kept for the virtual machine
//     until it starts its create, passes, or the offer expires; then the next is
//     called.
//  3. The end of every operation is reported exactly once to Options.Ended and
//     over the channel that Start returned, in this order.
//  4. A panic in an operation becomes its error.
//  5. Shutdown cancels what runs and returns when all of it has ended.
package operation
