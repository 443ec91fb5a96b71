// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint only gives the module of the pinned linters a package: staticcheck is
// named by the tool directive of go.mod, the other checks run in the command analyzers.
package lint
