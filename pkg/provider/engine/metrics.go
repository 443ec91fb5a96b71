// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Collector is a Prometheus collector for the operations and the virtual machines of an engine. All values are computed
// when the metrics are collected.
type Collector struct {
	engine  *Engine
	orphans FindOrphans

	operations, slots, used, waiting *prometheus.Desc
	managed, orphaned                *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector for e. vcenter is the value of the label of that name.
func NewCollector(e *Engine, vcenter string, orphans FindOrphans) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("slipway_provider_"+name, help, labels, prometheus.Labels{"vcenter": vcenter})
	}
	return &Collector{
		engine: e, orphans: orphans,
		operations: desc("operations", "Running operations.", "operation"),
		slots:      desc("places", "Maximum number of concurrent operations of a class.", "class"),
		used:       desc("places_used", "Running operations of a class.", "class"),
		waiting:    desc("places_waiting", "Objects that wait for a free slot of a class.", "class"),
		managed:    desc("virtual_machines", "Virtual machines that belong to an object. Absent until vCenter is read."),
		orphaned:   desc("orphaned_virtual_machines", "Virtual machines whose object does not exist. Absent until the objects and vCenter are read."),
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
	for class, p := range u.slots {
		gauge(c.slots, p.total, string(class))
		gauge(c.used, p.used, string(class))
		gauge(c.waiting, p.waiting, string(class))
	}
	if orphans, known := c.orphans(); known {
		gauge(c.orphaned, len(orphans))
	}
	if c.engine.driver.IsCurrent() {
		gauge(c.managed, c.engine.driver.CountOwned())
	}
}

// usage is the current work of an engine.
type usage struct {
	running map[driver.Kind]int
	slots   map[class]slotUsage
}

type slotUsage struct{ total, used, waiting int }

func (e *Engine) usage() usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := usage{running: map[driver.Kind]int{}, slots: map[class]slotUsage{}}
	for _, kind := range driver.Kinds {
		u.running[kind] = 0
	}
	for _, rec := range e.states {
		if rec.running != nil {
			u.running[rec.running.op.Kind]++
		}
	}
	for class, p := range e.slots {
		u.slots[class] = slotUsage{total: p.total, used: p.used, waiting: p.queue.Len()}
	}
	return u
}
