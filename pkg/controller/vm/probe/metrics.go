// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

// Collectors returns the collectors of slipway_probes, slipway_probe_connections and slipway_probe_tries_total{result},
// and of the metrics of the queue.
func (p *Prober) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{p}, exposition.Collector(p.queue)}
}

type collector struct{ prober *Prober }

var (
	probes      = prometheus.NewDesc("slipway_probes", "Readiness probes that connect to guests.", nil, nil)
	connections = prometheus.NewDesc("slipway_probe_connections", "Connections that readiness probes are trying.", nil, nil)
	tries       = prometheus.NewDesc("slipway_probe_tries_total", "Connections that readiness probes have tried, by result.", []string{"result"}, nil)
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{probes, connections, tries} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	p := c.prober
	p.mu.Lock()
	n := len(p.probes)
	p.mu.Unlock()
	to <- prometheus.MustNewConstMetric(probes, prometheus.GaugeValue, float64(n))
	to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(p.counts.open.Load()))
	for result, n := range map[string]int64{
		"ready": p.counts.ready.Load(), "not_ready": p.counts.notReady.Load(), "error": p.counts.failed.Load(),
	} {
		to <- prometheus.MustNewConstMetric(tries, prometheus.CounterValue, float64(n), result)
	}
}
