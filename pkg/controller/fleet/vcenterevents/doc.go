// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenterevents writes vSphere events of VMs as Events of the management cluster.
package vcenterevents
