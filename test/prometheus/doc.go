// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus runs a Prometheus, that of Debian's package, in tests: it reads the server of
// a test/localcluster, and answers queries.
//
// Guarantees: nothing outlives Close; it listens on loopback alone, at a port that nobody else has;
// the job is named slipway, and labels that the server gives stay as they are.
package prometheus
