// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resourcequota counts what virtual machines use of the ResourceQuotas of the host
// cluster, for the resources that the host's own controller does not know. That controller
// keeps what it does not know as it is, so that both share status.used: each writes its
// own resources, on condition that nobody has written meanwhile.
//
// Guarantees:
//   - Nothing but status.used of our own resources changes, and only where it differs.
//   - More is written as soon as it is seen. Less is written only after settleTime, and
//     never less than what is used plus all that was charged in that time: a request that
//     was charged and is not stored yet keeps its place.
//   - What could not be read changes nothing.
//   - The host cluster is asked for nothing: its quotas come by the informer that admission
//     has.
package resourcequota
