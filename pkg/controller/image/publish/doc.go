// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish publishes virtual machines as library items, once for each VirtualMachinePublishRequest.
//
// Guarantees:
//
//  1. A request is started only when its VM is created and its ContentLibrary allows the namespace, whose labels must be
//     known. Status records the start before the operation begins.
//  2. No worker waits for vSphere. Changes of the VM, the library or the image and the end of an operation enqueue the
//     request.
//  3. A complete request is reconciled again only to delete it when its time to live has passed.
//  4. A deleted request keeps its finalizer until no operation runs and no incomplete item is left. Published items are not
//     removed.
//  5. All work for a request is done under the Lease of the vCenter of its library.
package publish
