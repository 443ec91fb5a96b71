// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package addressclaim claims IP addresses for virtual machines by the contract of Cluster
// API's IPAM providers: an IPAddressClaim of ipam.cluster.x-k8s.io names a pool, and the
// provider that has the pool makes an IPAddress for it.
//
// Guarantees:
//
//  1. The claim of an interface and a pool has one name, which no other virtual machine
//     has, so that whoever claims again finds what was claimed before.
//  2. An address counts only if it says that it is of the claim, and the claim that it is
//     the virtual machine's.
//  3. Claim and address carry a finalizer until Release: whoever deletes the claim by hand
//     does not free the address of a virtual machine that uses it.
//  4. Nothing is released but what Release is called for. That an object is not seen
//     frees nothing.
//  5. What was given is watched, not asked for.
//
// There are no owner references to virtual machines: the host cluster's garbage collector
// deletes what refers to an object that an empty or older store does not have.
package addressclaim
