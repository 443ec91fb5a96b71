// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check implements the virtctl command check, which checks an installation.
package check
