// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the server over HTTPS, with its real store and without fakes.
package integration
