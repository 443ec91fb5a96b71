// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clitest runs commands of virtctl against a fake API server.
package clitest
