// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"
)

// metricPrefixes are those of the metrics that tell how the member is: its disk, the
// size of its data, and its proposals. Others are for those who work on etcd, or of
// the network that a lone member does not have.
var metricPrefixes = []string{"etcd_disk_", "etcd_mvcc_db_", "etcd_server_", ownPrefix}

// ownPrefix is that of what etcd does not count itself.
const ownPrefix = "slipway_etcd_"

// etcd registers with the default registry, and so do these: there is one set of them in
// a process.
var (
	fullGauge = promauto.NewGauge(prometheus.GaugeOpts{
		Name: ownPrefix + "full", Help: "1 while the embedded etcd takes deletions only, or nothing, because its quota was reached.",
	})
	quotaGauge = promauto.NewGauge(prometheus.GaugeOpts{
		Name: ownPrefix + "quota_bytes", Help: "Size of the data of the embedded etcd from which on it takes deletions only. etcd's own limit is beyond it.",
	})
	diskFreeGauge = promauto.NewGauge(prometheus.GaugeOpts{
		Name: ownPrefix + "disk_free_bytes", Help: "Free space in the file system of the embedded etcd.",
	})
	// Those of snapshots are shown by who keeps some.
	snapshotTimeGauge = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Name: ownPrefix + "snapshot_timestamp_seconds", Help: "When the newest snapshot in --etcd-snapshot-dir was taken, 0 without any.",
	}, nil)
	snapshotSizeGauge = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Name: ownPrefix + "snapshot_size_bytes", Help: "Size of the newest snapshot in --etcd-snapshot-dir.",
	}, nil)
	snapshotIntervalGauge = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Name: ownPrefix + "snapshot_interval_seconds", Help: "Time from one snapshot to the next, as --etcd-snapshot-interval says.",
	}, nil)
	snapshotsTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: ownPrefix + "snapshots_total", Help: "Snapshots that were to be taken, by result: success or error.",
	}, []string{"result"})
)

// observeSnapshots shows those that are kept, the newest first.
func observeSnapshots(all []kept) {
	at, size := 0.0, 0.0
	if len(all) > 0 {
		at = float64(all[0].at.Unix())
		if info, err := os.Stat(all[0].path); err == nil {
			size = float64(info.Size())
		}
	}
	snapshotTimeGauge.WithLabelValues().Set(at)
	snapshotSizeGauge.WithLabelValues().Set(size)
}

// observe shows what etcd itself does not.
func observe(s Space) {
	diskFreeGauge.Set(float64(s.DiskFree))
	quotaGauge.Set(float64(s.Quota))
	fullGauge.Set(0)
	if s.level() >= full {
		fullGauge.Set(1)
	}
}

// Metrics collects what etcd has registered with the default registry of Prometheus.
// It describes nothing, so that it has to be registered once only in a process.
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
		if !ours(f.GetName()) {
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

func ours(name string) bool {
	for _, p := range metricPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// gathered is a metric as it was gathered.
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
