// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphans implements the virtctl command orphans, which lists VMs of vSphere without a VirtualMachine, and copies.
package orphans
