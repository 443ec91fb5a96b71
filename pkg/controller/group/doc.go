// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package group says in the status of groups which power state each member
// inherits now: step after step, in the order in which a group is powered on, and in the
// reverse one when it is powered off or suspended.
//
// Guarantees:
//
//  1. What is asked of the members is computed of the group, its members as their objects
//     show them, and the time alone. What went on before is in the status: a process that
//     takes over goes on.
//  2. A step that has begun stays so until another power state is wanted, whatever becomes
//     of the steps before it.
//  3. Status is written when it says something else only, at most a few times in a second.
//     Nothing is written into a spec, nor into a member, and no vCenter is asked.
//  4. A member takes over what is asked of it by itself, if both name each other. A group
//     that is gone asks for nothing.
//  5. Groups that are in each other, or too deep, are not linked: that is a condition, and
//     none of them waits for itself.
package group
