// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check has the command check of virtctl, which reports what an installation lacks.
package check
