// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults injects one fault at one moment of one operation, for every combination:
//
//   - Faults: the server is killed or stopped, its store is faulty or full, its file system is full, the management
//     cluster or vCenter is unreachable.
//   - Moments: the operation is requested, in progress, or done but not answered.
//   - States of virtual machines: creating, resizing, changing power, deleting.
//
// After each fault the test compares the API, its store, vSphere and the management cluster with the desired state.
// It also compares the calls to vSphere, and their effects, with the expected ones.
//
// A fault begins only when the operation of every machine is in flight, as reported by the simulated vCenter, so no
// test depends on time. TestMatrix prints the table of results that docs/contributing/faults.md contains.
package faults
