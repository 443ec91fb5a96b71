// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report converts the state of a vSphere VM to API status. All functions are pure: the same record results
// in the same status.
package report
