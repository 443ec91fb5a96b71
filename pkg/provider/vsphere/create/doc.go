// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create creates vSphere VMs from images, powered off.
//
// Guarantees:
//
//  1. Create searches for the instance UUID in vSphere before it creates a VM. A repeated create, for example
//     after a crash, finds the VM of the first create.
//  2. The request that creates the VM contains the instance UUID and the owner, so that the VM always
//     has an owner. If vSphere applies such a request in part, the instance UUID suffices.
//  3. The inventory path is deterministic: the managed folder, the namespace and the name. A VM of
//     another owner at that path is not changed; it is reported.
//  4. An existing VM is adopted only if it is below the managed folder and has no owner or is owned by the
//     object itself.
//  5. A deployment request contains all settings of the image's OVF descriptor except disks and their
//     controllers, in case vCenter ignores the descriptor's settings. A clone never has
//     a copy of its template's TPM. It never has the template's adapters unless the spec lists no network.
//  6. Files that a failed create has left behind are removed, and no other files.
package create
