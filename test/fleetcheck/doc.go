// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleetcheck looks at all that there is of a fleet of virtual machines (the
// API, its store, vSphere and the host cluster) and says what is not as its users want
// it: what is lost, there twice, stuck or left behind, and what foreign was touched. It
// also counts what was asked of vSphere and what took effect there.
//
// Guarantees:
//   - It changes nothing, and has a session of its own at the vCenter for every look.
//   - Finding problems is pure; a look that fails is an error and no problem.
//   - Which machine of vSphere an object was seen with first is remembered: one that was
//     made again is lost.
package fleetcheck
