// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish makes library items of virtual machines, as
// VirtualMachinePublishRequests ask for, once for each.
//
// Guarantees:
//
//  1. A request is begun only when its virtual machine is created and its ContentLibrary
//     lets the namespace publish, by labels that are known. Status says that it was begun
//     before it is.
//  2. No worker waits for vSphere. What a request waits for wakes it: the virtual machine, the
//     library, the image, the end of an operation.
//  3. A request that is complete is not looked at again but to delete it when its time is over.
//  4. A request that is deleted goes when nothing runs for it, and nothing half made is left. What
//     was published stays.
//  5. All that is done for a request is done under the Lease of the vCenter of its library.
package publish
