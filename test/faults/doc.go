// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults lets one thing go wrong at one moment of one operation, for every
// combination of them: a matrix of faults (the server killed, stopped, its store sick or
// full, its file system full, the host cluster or vCenter away), moments (asked for, being
// carried out, done and not answered) and states of virtual machines (creating, resizing,
// changing power, deleting). After each it compares the API, its store, vSphere and the host cluster
// with what was wanted, and what was asked of vSphere, and took effect there, with what
// is right.
//
// A fault begins only once the operation of every machine is in flight, which the
// simulated vCenter says: nothing depends on time. TestMatrix prints a table of what it
// found, which docs/faults.md has.
package faults
