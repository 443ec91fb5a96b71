// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package descriptor reads the virtual machine settings from OVF descriptors of content library items.
//
// A deployment with its own configuration uses the descriptor only for disks (vSphere Automation API, Vcenter Ovf
// LibraryItem VmConfigSpec: "the OVF descriptor acts as a disk descriptor"). The configuration must therefore
// contain the descriptor's other settings. vCenter creates the disks and their controllers.
//
// Guarantees: the Reader reads a descriptor once for each version of the item's content. It checks the version at
// most once a second, for any number of callers. The size of the cache and of the descriptors is limited.
package descriptor
