// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiservices reads and changes the APIServices by which a host cluster reaches the
// server.
//
// Guarantees:
//   - An APIService is changed as it was read, or not at all: of two who change it at once one
//     gets a conflict, and reads again.
//   - Of what is there nothing is changed but what the caller names: the conditions of others
//     stay as they were written.
package apiservices
