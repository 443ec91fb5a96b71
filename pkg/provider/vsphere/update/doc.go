// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update decides what an existing virtual machine needs next. It is
// pure: the clock and everything observed are parameters.
//
// The steps run in the order of the specification: schema upgrade, status,
// backup, configuration, power state, snapshot. Each returns the status that it
// wants, at most one operation, and an error. The first operation ends the
// plan, for it changes what the later steps look at.
//
// Errors: one that says NoRequeue ends the plan, except that a configuration
// which cannot be applied never keeps a virtual machine from being powered off.
// Others are collected, and the later steps run.
package update
