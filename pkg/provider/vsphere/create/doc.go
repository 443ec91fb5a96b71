// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create makes vSphere VMs from images, powered off.
//
// Guarantees:
//
//  1. It looks for the instance UUID in vSphere before it makes anything, so
//     that a repeated create, also one after a crash, finds the first one's VM.
//  2. The instance UUID and the owner are part of the request that makes the
//     VM, so that there is no moment in which it belongs to nobody. Should
//     vSphere carry out such a request in part, the instance UUID suffices.
//  3. The inventory path is deterministic: the managed folder, the namespace,
//     the name. A foreign VM at that path is left alone and reported.
//  4. A VM that exists is taken over only if it is below the managed folder and
//     has no owner, or the object itself.
//  5. A deployment says all that the image's OVF descriptor says of the VM but for its
//     disks and their controllers, in case vCenter takes only these from it. A clone
//     has no copy of its template's TPM, and none of its adapters for a moment, unless
//     the spec names no network.
//  6. What a failed create left behind is removed, and only that.
package create
