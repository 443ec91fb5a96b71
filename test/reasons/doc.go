// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reasons lists the conditions of each kind of the API with their reasons. It writes
// docs/reference/conditions.md, and compares the objects of a running server with its table.
//
// Guarantee: a test fails if the table lacks a condition, reason or status. Constants of the API and pairs in the
// source code are always checked. Values that a server writes are checked by the tests that run a server.
package reasons
