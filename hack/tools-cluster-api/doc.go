// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools only gives the module of the pinned Cluster API a package; its
// program is named by the tool directive of go.mod.
package tools
