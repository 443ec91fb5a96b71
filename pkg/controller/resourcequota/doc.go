// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resourcequota writes the usage of VMs into the ResourceQuotas of the management cluster, for the resources that the
// cluster's own quota controller does not know. That controller does not change unknown resources, so that both share
// status.used: each writes its own resources with optimistic locking.
//
// Guarantees:
//   - Only status.used of Slipway's resources is changed, and only if it differs.
//   - A higher usage is written immediately. A lower usage is written only after settleTime. It is never less than the
//     current usage plus the charges in that time, so that the charge of a request that is not stored yet is kept.
//   - If usage cannot be read, nothing is changed.
//   - The controller sends no reads to the management cluster: it uses the informer of admission.
package resourcequota
