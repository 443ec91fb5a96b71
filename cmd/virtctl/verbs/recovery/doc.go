// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery has the command recover of virtctl, which recreates VirtualMachines from the records in their VMs.
package recovery
