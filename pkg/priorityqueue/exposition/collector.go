// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package exposition

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// The help texts are those of component-base's metrics of client-go's queues, including
// the prefix for stability: all series of a name in a registry must have the same text.
const (
	helpDepth      = "[BETA] Current depth of workqueue"
	helpAdds       = "[BETA] Total number of adds handled by workqueue"
	helpRetries    = "[BETA] Total number of retries handled by workqueue"
	helpWait       = "[BETA] How long in seconds an item stays in workqueue before being requested."
	helpWork       = "[BETA] How long in seconds processing an item from workqueue takes."
	helpUnfinished = "[BETA] How many seconds of work has done that is in progress and hasn't been observed by " +
		"work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by " +
		"observing the rate at which this increases."
	helpLongest = "[BETA] How many seconds has the longest running processor for workqueue been running."
)

// Counter is a queue of any key type.
type Counter interface {
	Stats() priorityqueue.Stats
}

// Collector returns a collector of the workqueue metrics of a queue. All metrics have the
// label name:
//
//	workqueue_depth{priority}                    ready keys
//	workqueue_queue_duration_seconds{priority}   time from ready to hand-out
//	workqueue_work_duration_seconds              time from hand-out to Done
//	workqueue_adds_total                         keys that became ready
//	workqueue_retries_total                      adds with a delay or rate limit
//	workqueue_unfinished_work_seconds            sum of the times that keys have been in process
//	workqueue_longest_running_processor_seconds  the longest of these times
//
// The first 25 priorities have their own series. The other priorities share the series with
// priority "other". The collector describes nothing in advance, so that it can be
// registered together with component-base's metrics of the same names, which do not have
// the label priority.
func Collector(q Counter) prometheus.Collector {
	labels := prometheus.Labels{"name": q.Stats().Name}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("workqueue_"+name, help, variable, labels)
	}
	return &collector{
		queue:      q,
		depth:      desc("depth", helpDepth, "priority"),
		wait:       desc("queue_duration_seconds", helpWait, "priority"),
		work:       desc("work_duration_seconds", helpWork),
		adds:       desc("adds_total", helpAdds),
		retries:    desc("retries_total", helpRetries),
		unfinished: desc("unfinished_work_seconds", helpUnfinished),
		longest:    desc("longest_running_processor_seconds", helpLongest),
	}
}

type collector struct {
	queue                                                 Counter
	depth, wait, work, adds, retries, unfinished, longest *prometheus.Desc
}

// Describe implements prometheus.Collector by describing nothing; see Collector.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.queue.Stats()
	ch <- prometheus.MustNewConstMetric(c.adds, prometheus.CounterValue, float64(s.Adds))
	ch <- prometheus.MustNewConstMetric(c.retries, prometheus.CounterValue, float64(s.Retries))
	ch <- prometheus.MustNewConstMetric(c.unfinished, prometheus.GaugeValue, s.Unfinished.Seconds())
	ch <- prometheus.MustNewConstMetric(c.longest, prometheus.GaugeValue, s.Longest.Seconds())
	ch <- constHistogram(c.work, &s.Work)
	for priority, p := range s.Priorities {
		ch <- prometheus.MustNewConstMetric(c.depth, prometheus.GaugeValue, float64(p.Depth), priority)
		ch <- constHistogram(c.wait, &p.Waits, priority)
	}
}

func constHistogram(d *prometheus.Desc, h *priorityqueue.Histogram, labels ...string) prometheus.Metric {
	cumulative := make(map[float64]uint64, priorityqueue.HistogramBuckets)
	var n uint64
	for i, count := range h.Count {
		n += count
		if i < priorityqueue.HistogramBuckets {
			cumulative[priorityqueue.HistogramBound(i).Seconds()] = n
		}
	}
	return prometheus.MustNewConstHistogram(d, n, h.Sum.Seconds(), cumulative, labels...)
}
