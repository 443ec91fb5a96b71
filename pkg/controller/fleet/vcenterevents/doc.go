// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenterevents writes what vCenters report of virtual machines as Events.
package vcenterevents
