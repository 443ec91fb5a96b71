// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint only gives the module of the pinned linter a package; the linter is
// named by the tool directive of go.mod.
package lint
