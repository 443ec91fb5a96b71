// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outcomes are the values of the label "result".
var outcomes = [...]string{"success", "requeue", "requeue_after", "error"}

// counts has the values of a controller's metrics.
type counts struct {
	active, panics, limited atomic.Int64
	outcome                 [len(outcomes)]atomic.Int64
	// busy is the time spent in Reconcile, in nanoseconds.
	busy atomic.Int64
}

func (c *counts) observe(r Result, err error, took time.Duration) {
	i := 0
	switch {
	case err != nil:
		i = 3
	case r.RequeueAfter > 0:
		i = 2
	case r.Requeue:
		i = 1
	}
	c.outcome[i].Add(1)
	c.busy.Add(int64(took))
}

// Collector returns a collector of the controller's metrics: slipway_controller_reconcile_total{controller,result},
// slipway_controller_reconcile_panics_total{controller}, slipway_controller_writes_limited_total{controller},
// slipway_controller_reconcile_seconds_total{controller} and slipway_controller_active_workers{controller}.
func (c *Controller[K]) Collector() prometheus.Collector {
	labels := prometheus.Labels{"controller": c.options.Name}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("slipway_controller_"+name, help, variable, labels)
	}
	return &collector{
		counts:  &c.counts,
		total:   desc("reconcile_total", "Reconciles by result", "result"),
		panics:  desc("reconcile_panics_total", "Reconciles that panicked"),
		limited: desc("writes_limited_total", "Writes delayed because the object was written too often"),
		busy:    desc("reconcile_seconds_total", "Time spent in reconciles"),
		active:  desc("active_workers", "Workers that are reconciling"),
	}
}

type collector struct {
	counts                               *counts
	total, panics, limited, busy, active *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.total, c.panics, c.limited, c.busy, c.active} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for i, name := range outcomes {
		ch <- prometheus.MustNewConstMetric(c.total, prometheus.CounterValue, float64(c.counts.outcome[i].Load()), name)
	}
	ch <- prometheus.MustNewConstMetric(c.panics, prometheus.CounterValue, float64(c.counts.panics.Load()))
	ch <- prometheus.MustNewConstMetric(c.limited, prometheus.CounterValue, float64(c.counts.limited.Load()))
	busy := time.Duration(c.counts.busy.Load()).Seconds()
	ch <- prometheus.MustNewConstMetric(c.busy, prometheus.CounterValue, busy)
	ch <- prometheus.MustNewConstMetric(c.active, prometheus.GaugeValue, float64(c.counts.active.Load()))
}
