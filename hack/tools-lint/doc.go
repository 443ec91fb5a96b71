// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is in the module that pins the linters. The tool directive of go.mod specifies staticcheck; the
// command analyzers runs the other checks.
package lint
