// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package management follows what the server needs to know of the management cluster itself.
package management
