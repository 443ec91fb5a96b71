// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exposition shows priority queues to people and to Prometheus. It works on
// the copies that Queue.Snapshot and Queue.Stats return, so that nothing is
// formatted or written while the lock of a queue is held.
package exposition
