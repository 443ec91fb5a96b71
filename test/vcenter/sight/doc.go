// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sight decides what a client of the simulated vCenter sees of its
// inventory: virtual machines that vCenter cannot read, objects that an account
// has no privileges on, and tasks that a restart has forgotten.
//
// Guarantees: the simulator's objects stay as they are, so that everything can be
// taken back at once; reads, lists, views and privileges tell the same story;
// whoever watches is told of every change.
package sight
