// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish publishes vSphere VMs as content library items.
//
// Guarantees:
//
//  1. The last line of an item's description records the server, the namespace and the request that published it. Only
//     items of the same server and namespace get new versions or are deleted. Other items are not changed.
//  2. A request results in one item or one new version, however often it is repeated. A task of an earlier process is
//     found by its activation ID and awaited. A completed task is recognized by the item.
//  3. Only the VM's description and disks are published: no export flag includes addresses or advanced settings. A VM
//     with its own OVF property values or with claims' disks is refused. An item whose descriptor contains
//     such data anyway is deleted.
//  4. Incomplete items are removed, and no other items.
package publish
