// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package action performs single changes of vSphere VMs and waits for them.
//
// When an action returns without error, the inventory shows its result. The next reconcile
// therefore never plans from an outdated state. An action succeeds if the VM already has the
// desired state; Destroy succeeds if the VM does not exist. Destroy deletes only the VM's own
// disks. It succeeds when the VM no longer exists, regardless of the task's result.
package action
