// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version has the command version of virtctl, which prints the versions of virtctl and of the API.
package version
