// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is a driver over a hypervisor in memory, for tests of the engine and of
// what stands on it.
//
// Guarantee: it passes the conformance suite, as every driver under the engine does. It
// plans nothing.
package fake
