// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compliance reads the storage policy compliance of virtual machines and their disks from vSphere.
//
// Guarantees:
//
//  1. Only objects with a recorded policy are queried. Without such objects there are no calls.
//  2. All objects are queried every Interval, in sequential batches. An object that gets a policy is queried once,
//     within Delay and the duration of a call.
//  3. The status of an object that was not queried is unknown. After an error, an object keeps its last status.
package compliance
