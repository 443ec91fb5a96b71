// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reasons has the conditions of each kind of the API and the reasons that they are set with. It writes
// docs/reference/conditions.md, and compares the objects of a running server with its table.
//
// Guarantee: a condition, a reason or a status that the table lacks fails a test: a constant of the API and a pair in
// the source code always, what a server has written when a test with a server meets it.
package reasons
