// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hardware is the one table of the fields that make a virtual machine what it
// is: how each is called, how its values are printed, and whether a running virtual
// machine takes a change or needs a power cycle. Refresh previews, staged updates,
// status.restartRequired and the comparison with vSphere all go by it.
//
// Guarantees:
//
//  1. Pure: values in, values out; arguments are never changed.
//  2. A field has one path, and each value one way to be printed, with its unit.
//  3. Effects are those that the vSphere driver has; a test there holds the two
//     together, path by path.
package hardware
