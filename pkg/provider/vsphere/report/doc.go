// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report says what a vSphere VM shows, in the words of the API.
//
// Guarantee: every function is pure, and the same record reports the same.
package report
