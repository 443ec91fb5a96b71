// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package login connects virtctl commands to vCenter with the user's own account, never with that of the server.
//
// Guarantees: certificates are verified unless verification is explicitly disabled, all calls have a timeout, and
// errors contain no password.
package login
