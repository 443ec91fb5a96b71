// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Collector shows what an engine works on, and how many virtual machines it has and has
// not, as Prometheus metrics. Everything is counted when it is asked for.
type Collector struct {
	engine  *Engine
	orphans FindOrphans

	operations, places, used, waiting *prometheus.Desc
	managed, orphaned                 *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns the metrics of e, whose hypervisor is called vcenter.
func NewCollector(e *Engine, vcenter string, orphans FindOrphans) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("slipway_provider_"+name, help, labels, prometheus.Labels{"vcenter": vcenter})
	}
	return &Collector{
		engine: e, orphans: orphans,
		operations: desc("operations", "Operations that run.", "operation"),
		places:     desc("places", "Operations of a class that may run at once.", "class"),
		used:       desc("places_used", "Operations of a class that run.", "class"),
		waiting:    desc("places_waiting", "Virtual machines that wait for a place in a class.", "class"),
		managed:    desc("virtual_machines", "Virtual machines that belong to objects. Absent while vCenter is not read."),
		orphaned:   desc("orphaned_virtual_machines", "Virtual machines whose object does not exist. Absent while they or vCenter are not read."),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	u := c.engine.usage()
	for kind, n := range u.running {
		gauge(c.operations, n, string(kind))
	}
	for class, p := range u.places {
		gauge(c.places, p.total, string(class))
		gauge(c.used, p.used, string(class))
		gauge(c.waiting, p.waiting, string(class))
	}
	if orphans, known := c.orphans(); known {
		gauge(c.orphaned, len(orphans))
	}
	if c.engine.driver.Synced() {
		gauge(c.managed, c.engine.driver.Managed())
	}
}

// usage is what an engine works on at a moment.
type usage struct {
	running map[driver.Kind]int
	places  map[class]placesUsage
}

type placesUsage struct{ total, used, waiting int }

func (e *Engine) usage() usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := usage{running: map[driver.Kind]int{}, places: map[class]placesUsage{}}
	for _, kind := range driver.Kinds {
		u.running[kind] = 0
	}
	for _, rec := range e.records {
		if rec.running != nil {
			u.running[rec.running.op.Kind]++
		}
	}
	for class, p := range e.places {
		u.places[class] = placesUsage{total: p.total, used: p.used, waiting: p.line.Len()}
	}
	return u
}
