// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vuln only gives the module of govulncheck a package: go.mod names the tool.
package vuln
