// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools only gives the module of the pinned programs a
// package; the programs are named by the tool directives of go.mod.
package tools
