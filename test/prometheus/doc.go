// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus runs Debian's Prometheus in tests. It scrapes the server of a test/localcluster and answers
// queries.
//
// Guarantees: no process remains after Close. Prometheus listens only on loopback, on a port that no other process
// uses. The job is named slipway, and labels from the server are kept.
package prometheus
