// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configspec compares an effective spec with a vSphere VM and builds
// the reconfiguration that makes the VM as wanted. It is pure.
//
// Every difference knows its path in the effective spec, both values, and when
// vSphere can change it: at once or only while the VM is powered off. A field
// that the effective spec leaves unset is left to the image, reservations,
// limits and shares excepted, which fall back to vSphere's defaults, so that
// removing one from the spec removes it from the VM, and passed-through devices,
// of which the VM has exactly those that are asked for. Disks and TPMs hold data:
// leaving them out of the spec never removes them.
//
// A VM that was taken over from somebody (observe.AdoptedKey) gets what the spec names,
// and nothing else: name, BIOS UUID, firmware, adapters, devices, allocations and what its
// guest was told stay as they were. A new one is told its topology and hot-add in any case, for
// its image has values that nobody here knows.
//
// What is asked for and is not done is in Refused or in NotApplied.
package configspec
