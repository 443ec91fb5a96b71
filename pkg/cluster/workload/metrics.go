// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

// outcomes counts successful and failed operations.
type outcomes struct{ succeeded, failed atomic.Int64 }

func (o *outcomes) count(err error) {
	if err == nil {
		o.succeeded.Add(1)
	} else {
		o.failed.Add(1)
	}
}

// counts are the counters of the metrics.
type counts struct{ connects, probes outcomes }

// Collectors returns the collectors of slipway_workload_connections{state}, slipway_workload_connects_total{result},
// slipway_workload_probes_total{result} and of the cluster queue.
func (c *Clusters) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{c}, exposition.Collector(c.queue)}
}

type collector struct{ clusters *Clusters }

var (
	connections = prometheus.NewDesc("slipway_workload_connections", "Requested workload cluster connections, by state.", []string{"state"}, nil)
	connects    = prometheus.NewDesc("slipway_workload_connects_total", "Connection attempts to workload clusters, by result.", []string{"result"}, nil)
	probes      = prometheus.NewDesc("slipway_workload_probes_total", "Probes of connected workload clusters, by result.", []string{"result"}, nil)
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, connects, probes} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *collector) Collect(to chan<- prometheus.Metric) {
	c := m.clusters
	states := map[string]int{"connected": 0, "silent": 0, "connecting": 0, "disconnected": 0}
	c.mu.Lock()
	for _, s := range c.states {
		switch {
		case s.connected && s.failures > 0:
			states["silent"]++
		case s.connected:
			states["connected"]++
		case s.conn != nil, errors.Is(s.reason, errNotAttempted):
			states["connecting"]++
		default:
			states["disconnected"]++
		}
	}
	c.mu.Unlock()
	for state, n := range states {
		to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(n), state)
	}
	for d, o := range map[*prometheus.Desc]*outcomes{connects: &c.counts.connects, probes: &c.counts.probes} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(o.succeeded.Load()), "success")
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(o.failed.Load()), "error")
	}
}
