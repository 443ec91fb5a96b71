// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members contains functions for the objects that belong to a Cluster: pausing, ownership, and aggregation of
// Machines.
//
// Results are computed from the arguments only. Functions do not change their arguments unless documented. The order of
// a list of Machines does not affect the result. Messages name a few Machines and count the rest.
package members
