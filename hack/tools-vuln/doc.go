// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vuln is the only package of the module that pins govulncheck; go.mod specifies the tool.
package vuln
