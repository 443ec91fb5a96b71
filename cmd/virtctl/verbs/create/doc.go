// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create has the command create of virtctl, which prints manifests of virtual machines, instance types and preferences.
package create
