// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone says in the status of Zones what is seen of them, and keeps a Zone while there
// is something in it.
//
// Guarantees:
//
//  1. Status is written by the process that takes care of the vCenter of the zone, at most
//     every few seconds, and only when it says something else: an amount that is free counts
//     from a share of the capacity on, and a virtual machine that comes or goes counts within
//     seconds.
//  2. A Zone that is deleted stays as long as there are virtual machines in it. No new ones
//     are made in it then.
package zone
