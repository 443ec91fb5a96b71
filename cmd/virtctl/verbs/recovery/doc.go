// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery implements the virtctl command recover, which recreates VirtualMachines from the records in their VMs.
package recovery
