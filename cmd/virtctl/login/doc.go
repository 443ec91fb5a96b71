// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package login is how a verb of virtctl that goes to vCenter itself gets there: with the
// account of who calls it, and never that of the server.
//
// Guarantees: the certificate is verified unless somebody says otherwise in words, no call
// waits for an answer for ever, and no password is in an error.
package login
