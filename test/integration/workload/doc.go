// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload tests what the server does with workload clusters against a real one.
package workload
