// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli contains what the commands of virtctl share: access to the cluster, output, waits, and the flags for
// vCenter.
package cli
