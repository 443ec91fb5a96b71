// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vmmetrics collects the metrics of individual VMs.
package vmmetrics
