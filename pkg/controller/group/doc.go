// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package group writes the desired power state of each member into the status of groups. Members are powered on step by step in
// the boot order, and powered off or suspended in the reverse order.
//
// Guarantees:
//
//  1. The desired power states depend only on the group, the objects of its members and the time. The progress is in the
//     status, so that another process can continue.
//  2. A step that has begun remains begun until the desired power state of the group changes, whatever happens in earlier steps.
//  3. Status is written only if it changes, at most a few times per second. No spec and no member is written, and no vCenter
//     is read.
//  4. A member reads its desired power state from the group, if both refer to each other. A deleted group has no effect.
//  5. Groups that contain each other, or that are nested too deeply, are not linked. A condition reports it, and no group
//     waits for itself.
package group
