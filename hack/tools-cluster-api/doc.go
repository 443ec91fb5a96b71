// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools is the only package of the module that pins Cluster API; the tool directive of go.mod specifies its
// program.
package tools
