// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli has what the commands of virtctl share: access to the cluster, output, waiting, and the
// vCenter of flags.
package cli
