// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promql only gives the module of Prometheus's parser a package. The command selectors
// says what queries ask for, for the tests of dashboards and alerts.
package promql
