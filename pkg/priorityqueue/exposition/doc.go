// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exposition serves priority queues as a page, as JSON and as Prometheus metrics.
// It uses the copies that Queue.Snapshot and Queue.Stats return, so that nothing is
// formatted or written while the lock of a queue is held.
package exposition
