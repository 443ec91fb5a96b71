// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package descriptor reads what the OVF descriptors of content library items say of
// the virtual machine that they describe.
//
// A deployment that brings its own configuration uses the descriptor for its disks
// (vSphere Automation API, Vcenter Ovf LibraryItem VmConfigSpec: "the OVF descriptor
// acts as a disk descriptor"), so that the rest of it has to be part of that
// configuration. Disks and the controllers that they hang on are vCenter's business.
//
// Guarantees: a descriptor is read once for each version of the item's content, and the
// version at most once a second, by however many ask for them; what is remembered and
// what is read are bounded.
package descriptor
