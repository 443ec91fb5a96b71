// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// The help texts are those of component-base's metrics of client-go's queues,
// with its prefix for their stability: series of one name in one registry must
// have the same text.
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

// Collector exposes the workqueue metrics of a queue made with WithMetrics; of
// another queue it exposes nothing. All have the label name:
//
//	workqueue_depth{priority}                    ready keys
//	workqueue_queue_duration_seconds{priority}   time from ready to hand-out
//	workqueue_work_duration_seconds              time from hand-out to Done
//	workqueue_adds_total                         keys that became ready
//	workqueue_retries_total                      adds with a delay or rate limit
//	workqueue_unfinished_work_seconds            age of what is in process, summed
//	workqueue_longest_running_processor_seconds  the oldest of it
//
// The first 25 priorities seen have series of their own, the others share those
// with priority "other". The collector describes nothing in advance, so that it
// can be registered beside component-base's metrics of the same names, which
// lack the priority.
func (q *Queue[K]) Collector() prometheus.Collector {
	labels := prometheus.Labels{"name": q.name}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("workqueue_"+name, help, variable, labels)
	}
	return &collector{
		read:       q.readStats,
		depth:      desc("depth", helpDepth, "priority"),
		wait:       desc("queue_duration_seconds", helpWait, "priority"),
		work:       desc("work_duration_seconds", helpWork),
		adds:       desc("adds_total", helpAdds),
		retries:    desc("retries_total", helpRetries),
		unfinished: desc("unfinished_work_seconds", helpUnfinished),
		longest:    desc("longest_running_processor_seconds", helpLongest),
	}
}

// readings is a copy of what the metrics show; times are in nanoseconds.
type readings struct {
	adds, retries       uint64
	work                histogram
	unfinished, longest int64
	priorities          map[string]priorityReadings
}

type priorityReadings struct {
	depth int
	waits histogram
}

// readStats copies the counts, and false if the queue does not count.
func (q *Queue[K]) readStats() (readings, bool) {
	q.lock()
	defer q.release()
	s := q.core.stats
	if s == nil {
		return readings{}, false
	}
	now := q.time()
	q.core.promote(now, promoteBatch)
	r := readings{adds: s.adds, retries: s.retries, work: s.work}
	for _, p := range q.core.procs {
		r.longest = max(r.longest, now-p.since)
	}
	r.unfinished = int64(len(q.core.procs))*now - q.core.sinceSum
	depth := map[*priorityStats]int{}
	for i := range q.core.level {
		if lv := &q.core.level[i]; lv.lanes > 0 {
			depth[lv.stats] += int(lv.depth)
		}
	}
	r.priorities = make(map[string]priorityReadings, len(s.byPriority)+1)
	for priority, p := range s.byPriority {
		r.priorities[strconv.Itoa(priority)] = priorityReadings{depth[p], p.waits}
	}
	if len(s.byPriority) == statPriorities {
		r.priorities[otherPriorities] = priorityReadings{depth[&s.others], s.others.waits}
	}
	return r, true
}

type collector struct {
	read                                                  func() (readings, bool)
	depth, wait, work, adds, retries, unfinished, longest *prometheus.Desc
}

// Describe implements prometheus.Collector by describing nothing; see
// Queue.Collector.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	r, ok := c.read()
	if !ok {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.adds, prometheus.CounterValue, float64(r.adds))
	ch <- prometheus.MustNewConstMetric(c.retries, prometheus.CounterValue, float64(r.retries))
	ch <- prometheus.MustNewConstMetric(c.unfinished, prometheus.GaugeValue, seconds(r.unfinished))
	ch <- prometheus.MustNewConstMetric(c.longest, prometheus.GaugeValue, seconds(r.longest))
	ch <- constHistogram(c.work, &r.work)
	for priority, p := range r.priorities {
		ch <- prometheus.MustNewConstMetric(c.depth, prometheus.GaugeValue, float64(p.depth), priority)
		ch <- constHistogram(c.wait, &p.waits, priority)
	}
}

func constHistogram(d *prometheus.Desc, h *histogram, labels ...string) prometheus.Metric {
	cumulative := make(map[float64]uint64, buckets)
	var n uint64
	for i, count := range h.count {
		n += count
		if i < buckets {
			cumulative[seconds(1<<(firstBucket+bucketBits*i))] = n
		}
	}
	return prometheus.MustNewConstHistogram(d, n, seconds(h.sum), cumulative, labels...)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
