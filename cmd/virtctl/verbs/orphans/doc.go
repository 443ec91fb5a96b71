// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphans has the command orphans of virtctl, which lists VMs of vSphere without a VirtualMachine, and copies.
package orphans
