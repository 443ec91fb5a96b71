// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hardware has the table of the fields that describe the hardware of a virtual machine. For each field it
// defines the path, the type, how values are printed, the vSphere property, and whether a change is applied live or
// needs a power cycle. Refresh previews, staged updates, status.restartRequired and the comparison with vSphere use it.
//
// The package guarantees:
//
//  1. All functions are pure and never change their arguments.
//  2. A field has one path. Each value is printed in only one way, with its unit.
//  3. The rules for live changes exist only here. A preview applies them to two specs; the vSphere driver applies them to
//     the VM and the spec.
package hardware
