// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish makes items of content libraries from vSphere VMs.
//
// Guarantees:
//
//  1. An item says in the last line of its description by which server, from which namespace
//     and for which request it was published. Only such of the same server and namespace get
//     new versions or are deleted; any other is left alone.
//  2. For one request there is one item, or one new version, however often it is tried: what
//     an earlier process has begun is found by the activation ID of its task, and awaited;
//     what it has ended, by the item.
//  3. Nothing of the VM is published but its description: no flag asks for addresses or
//     advanced settings, a VM that has OVF properties of its own or the disks of claims is
//     refused, and an item whose descriptor tells such things all the same is deleted.
//  4. What is half made is removed, and only that.
package publish
