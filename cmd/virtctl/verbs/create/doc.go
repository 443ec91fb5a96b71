// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create implements the virtctl command create, which prints manifests of virtual machines, instance types and preferences.
package create
