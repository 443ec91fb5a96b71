// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promql is in the module that pins the Prometheus parser. The command selectors lists what queries select,
// for the tests of dashboards and alerts.
package promql
