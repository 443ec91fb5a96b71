// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// metricPrefixes are the prefixes of the metrics of a single member: its disk, the size of its data, and its proposals.
var metricPrefixes = []string{"etcd_disk_", "etcd_mvcc_db_", "etcd_server_"}

// Metrics returns a collector of etcd's metrics in the default registry of Prometheus. It has no descriptions, so that it must be
// registered only once per process.
func Metrics() prometheus.Collector { return metrics{prometheus.DefaultGatherer} }

type metrics struct{ from prometheus.Gatherer }

// Describe implements prometheus.Collector.
func (metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m metrics) Collect(out chan<- prometheus.Metric) {
	families, err := m.from.Gather()
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), fmt.Errorf("gathering etcd's metrics: %w", err))
	}
	for _, f := range families {
		if !isMemberMetric(f.GetName()) {
			continue
		}
		for _, sample := range f.GetMetric() {
			labels := make([]string, 0, len(sample.GetLabel()))
			for _, l := range sample.GetLabel() {
				labels = append(labels, l.GetName())
			}
			out <- gathered{prometheus.NewDesc(f.GetName(), f.GetHelp(), labels, nil), sample}
		}
	}
}

func isMemberMetric(name string) bool {
	for _, p := range metricPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// gathered is a metric of the default registry.
type gathered struct {
	desc   *prometheus.Desc
	sample *dto.Metric
}

// Desc implements prometheus.Metric.
func (g gathered) Desc() *prometheus.Desc { return g.desc }

// Write implements prometheus.Metric.
func (g gathered) Write(to *dto.Metric) error {
	to.Label, to.Gauge, to.Counter = g.sample.GetLabel(), g.sample.GetGauge(), g.sample.GetCounter()
	to.Histogram, to.Summary, to.Untyped = g.sample.GetHistogram(), g.sample.GetSummary(), g.sample.GetUntyped()
	return nil
}
