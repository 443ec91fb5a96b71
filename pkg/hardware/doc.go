// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hardware is the table of the fields that make up the hardware of a virtual
// machine: the path and type of each field, how its values are printed, the vSphere property
// that has it, and whether a running virtual machine takes a change or needs a power cycle.
// Refresh previews, staged updates, status.restartRequired and the comparison with vSphere
// use it.
//
// Guarantees:
//
//  1. Pure: values in, values out; arguments are never changed.
//  2. A field has one path, and each value one way to be printed, with its unit.
//  3. The rule for what changes live exists only here. A preview applies it to two specs, and
//     the vSphere driver to the VM and the spec.
package hardware
