// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package action carries out single changes of vSphere VMs and waits for them.
//
// When an action returns without error, the inventory shows its result: the
// next pass never plans by what was true before. What is already as the action
// would make it is success, and so is destroying what is gone. Destroying a VM takes
// its own disks only, and is done when the VM is gone, whatever became of the task.
package action
