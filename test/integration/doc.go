// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the server as its clients see it: over HTTPS, with its
// real store, without fakes.
package integration
