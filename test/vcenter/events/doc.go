// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events lets happen in the simulated vCenter what happens behind a client's
// back: administrators, hosts and vCenter itself hide, move, rename, unregister and
// renumber virtual machines, and take permissions.
//
// Guarantees: an event is what clients would see of it on vCenter, told to those that
// watch; every event has its inverse; what is an event of the API as well (unregister,
// register, move) goes the same way as the call.
//
// The events of the control page take virtual machines by managed object ID, instance
// UUID or name, and other objects by inventory path.
package events
