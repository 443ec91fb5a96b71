// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	peer "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	ours "github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

// key is shaped like the requests of a controller.
type key struct{ Namespace, Name string }

// queue contains the methods of each implementation that the workloads use.
type queue interface {
	Add(k key)
	AddPriority(k key, priority int)
	AddAfter(k key, d time.Duration)
	Get() (k key, shutdown bool)
	Done(k key)
	Len() int
	ShutDown()
}

// implementations are the queues compared, in the order of the columns.
var implementations = []string{slipway, runtimePeer, clientPeer}

const (
	slipway     = "slipway"
	runtimePeer = "controller-runtime"
	clientPeer  = "client-go"
)

// newQueue returns a queue with its default configuration. controller-runtime has metrics if the queue has a name,
// and client-go has those of Kubernetes' servers.
func newQueue(implementation string) queue {
	const name = "bench"
	switch implementation {
	case slipway:
		q := ours.New(name, ours.WithFairness(func(k key) string { return k.Namespace }), ours.WithAging[key](ours.Aging{}))
		prometheus.MustRegister(exposition.Collector(q))
		return slipwayQueue{q}
	case runtimePeer:
		return runtimeQueue{peer.New[key](name)}
	case clientPeer:
		return clientQueue{workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.DefaultTypedControllerRateLimiter[key](),
			workqueue.TypedRateLimitingQueueConfig[key]{Name: name, MetricsProvider: newProvider()})}
	}
	panic(fmt.Sprintf("no implementation %q", implementation))
}

type slipwayQueue struct{ *ours.Queue[key] }

func (q slipwayQueue) AddPriority(k key, priority int) {
	q.AddWithOpts(ours.AddOpts{Priority: priority}, k)
}

type runtimeQueue struct{ peer.PriorityQueue[key] }

func (q runtimeQueue) AddPriority(k key, priority int) {
	q.AddWithOpts(peer.AddOpts{Priority: &priority}, k)
}

type clientQueue struct {
	workqueue.TypedRateLimitingInterface[key]
}

// AddPriority adds without priority, as client-go has none.
func (q clientQueue) AddPriority(k key, _ int) { q.Add(k) }

// provider gives client-go's queue the metrics that Kubernetes' servers give it.
type provider struct {
	gauges     map[string]*prometheus.GaugeVec
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
}

func newProvider() *provider {
	p := &provider{map[string]*prometheus.GaugeVec{}, map[string]*prometheus.CounterVec{}, map[string]*prometheus.HistogramVec{}}
	label := []string{"name"}
	for _, n := range []string{"depth", "unfinished_work_seconds", "longest_running_processor_seconds"} {
		p.gauges[n] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "client", Name: n}, label)
		prometheus.MustRegister(p.gauges[n])
	}
	for _, n := range []string{"adds_total", "retries_total"} {
		p.counters[n] = prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "client", Name: n}, label)
		prometheus.MustRegister(p.counters[n])
	}
	for _, n := range []string{"queue_duration_seconds", "work_duration_seconds"} {
		p.histograms[n] = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: "client", Name: n, Buckets: prometheus.ExponentialBuckets(10e-9, 10, 10)}, label)
		prometheus.MustRegister(p.histograms[n])
	}
	return p
}

func (p *provider) NewDepthMetric(name string) workqueue.GaugeMetric {
	return p.gauges["depth"].WithLabelValues(name)
}

func (p *provider) NewAddsMetric(name string) workqueue.CounterMetric {
	return p.counters["adds_total"].WithLabelValues(name)
}

func (p *provider) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return p.histograms["queue_duration_seconds"].WithLabelValues(name)
}

func (p *provider) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return p.histograms["work_duration_seconds"].WithLabelValues(name)
}

func (p *provider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.gauges["unfinished_work_seconds"].WithLabelValues(name)
}

func (p *provider) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.gauges["longest_running_processor_seconds"].WithLabelValues(name)
}

func (p *provider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return p.counters["retries_total"].WithLabelValues(name)
}
