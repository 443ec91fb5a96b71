// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grafana draws the dashboards of artifacts/monitoring: the queries, the grid, the units and
// the legends of their JSON, as Grafana's documentation describes them, with answers of Prometheus.
// It is not Grafana, which no package registry has, and only draws what these dashboards use.
//
// Guarantees: a drawing follows from a dashboard and answers alone, and its page asks nothing of any
// host; a kind of panel or a unit that is not known is an error, not a gap.
//
// The pictures of the documentation are taken of a real run with -long (make dashboard-pictures).
package grafana
