// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compliance knows whether virtual machines and their disks are as their storage
// policies want them, as vSphere has found it last.
//
// Guarantees:
//
//  1. Only what is recorded to have a policy is asked about: without any there is no call.
//  2. All of it is asked about every Interval, in batches, one after the other; what has
//     got a policy since, once within Delay and the answer to it.
//  3. What was not asked about is unknown, and what could not be asked stays as it was.
package compliance
