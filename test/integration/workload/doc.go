// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload tests the server with a real workload cluster.
package workload
