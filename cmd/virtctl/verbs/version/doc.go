// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version implements the virtctl command version, which prints the versions of virtctl and of the API.
package version
