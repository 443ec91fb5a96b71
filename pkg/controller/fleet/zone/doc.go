// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone writes the status of Zones, and keeps the finalizer of a Zone while it has VMs.
//
// Guarantees:
//
//  1. The process that manages the vCenter of the zone writes the status, at most every few seconds and only if it changes.
//     Small changes of free amounts, relative to the capacity, are ignored. The number of VMs is updated within seconds.
//  2. A deleted Zone keeps its finalizer as long as it has VMs. No new VMs are created in it.
package zone
