// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package management watches the management cluster for its own network addresses.
package management
