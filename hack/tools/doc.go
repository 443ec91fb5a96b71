// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools is the only package of the module that pins the tools; the tool directives of go.mod specify the
// programs.
package tools
