// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configspec compares an effective spec with a vSphere VM and builds
// the reconfiguration that makes the VM as wanted. It is pure.
//
// The fields of pkg/hardware are compared by a table (rows), which reads each field from the
// VM and sets it. Adapters, disks, drives, claims, passed-through devices, the boot order and
// storage policies are lists: each kind is compared by functions of its own.
//
// Every difference has its path in the effective spec, both values, and when
// vSphere can change it: immediately or only while the VM is powered off, which pkg/hardware
// decides. A field that the effective spec leaves unset is left to the image, reservations,
// limits and shares excepted, which fall back to vSphere's defaults, so that
// removing one from the spec removes it from the VM, and passed-through devices,
// of which the VM has exactly those of the spec. Disks and TPMs hold data:
// leaving them out of the spec never removes them.
//
// An adopted VM (observe.AdoptedKey) gets what the spec names, and nothing else: name, BIOS
// UUID, firmware, adapters, devices, allocations and the data of its guest stay as they were.
// The topology and hot-add of a new VM are set in any case, because the values of its image
// are not known.
//
// Refused and NotApplied return what the spec requests and the VM does not get.
package configspec
