// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configspec compares an effective spec with a vSphere VM and builds the reconfiguration that applies the
// differences. It does no I/O.
//
// A table (rows) compares the fields of pkg/hardware: each row reads a field from the VM and sets it. Adapters,
// disks, drives, claims, passthrough devices, the boot order and storage policies are lists. Each list has its own
// comparison functions.
//
// A Difference has the path of a field in the effective spec, the current value and the desired value. It also
// records whether vSphere can change the field immediately or only while the VM is powered off. Package hardware
// decides that.
//
// A field that the effective spec does not set keeps the value of the image, with two exceptions:
//
//   - Reservations, limits and shares return to vSphere's defaults when they are removed from the spec.
//   - The VM has exactly the passthrough devices of the spec.
//
// Disks and TPMs hold data: removing them from the spec does not delete them.
//
// For an adopted VM (observe.AdoptedKey) only the fields that the spec sets are changed. Its name, BIOS UUID,
// firmware, adapters, devices, allocations and guest data stay unchanged. For a new VM, CPU topology and hot-add
// are always set, because the image's values are not known.
//
// Refused and NotApplied list the settings of the spec that the VM does not get.
package configspec
