// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement resolves where virtual machines go and what they are made
// from: datacenter, folder, resource pool, datastore, networks, images.
//
// What was found is remembered until Invalidate, so that a create asks for it
// once per process, also when many begin at the same time, and only so much of
// it that names which are no longer used do not add up. What was not found is
// never remembered. All failures of a check are reported together, each under
// the condition that it belongs to.
package placement
