// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere is the provider for VMware vSphere. Only this package and its subpackages
// communicate with vCenter.
//
// A reconcile reads the inventory, plans with pure functions, and starts at most one operation. The
// operation runs asynchronously. The end of an operation and changes in vSphere cause events. A
// reconcile of a virtual machine in the desired state sends no request to vSphere.
//
// The inventory may be outdated: the stream of changes lags, and while it is interrupted the last
// known state remains. Operations that are planned from an outdated state are safe:
//
//   - A power operation on a VM that already has the power state succeeds.
//   - Setting a value is idempotent.
//   - A device change is refused unless the VM still has the configuration from which the
//     change was computed.
//   - A VM is read again before it is destroyed.
//   - The inventory is never sufficient to conclude that a VM does not exist.
//
// A failed operation is retried after a delay that grows with the number of failures, or
// immediately if the desired state has changed in the meantime.
package vsphere
