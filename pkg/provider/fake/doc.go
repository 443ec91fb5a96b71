// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake implements a driver for a hypervisor in memory, for tests of the engine and its users.
//
// The engine with this driver passes the conformance suite. The driver makes no decisions.
package fake
