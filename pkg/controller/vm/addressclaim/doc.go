// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package addressclaim claims IP addresses for virtual machines from IPAM providers, by the contract of Cluster API. An
// IPAddressClaim of ipam.cluster.x-k8s.io refers to a pool, and the pool's provider creates an IPAddress for it.
//
// The package guarantees:
//
//  1. The claim of an interface and a pool has a fixed name that no other virtual machine uses. So a repeated claim
//     finds the existing one.
//  2. An address is used only if it refers to the claim and the claim belongs to the virtual machine.
//  3. Claims and addresses have a finalizer until Release. So a user who deletes a claim does not free an address
//     that a virtual machine uses.
//  4. Only Release releases objects. An object that is not found does not cause a release.
//  5. Assigned addresses are watched and not polled.
//
// Claims have no owner references to virtual machines. With an empty or older store, the management cluster's garbage
// collector would delete them because their owner does not exist.
package addressclaim
