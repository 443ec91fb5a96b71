// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// One set of metrics exists in a process. A gauge without a value yet is not shown.
var (
	fullGauge         = gauge("full", "1 while etcd takes deletions only, or nothing, because its quota was reached.")
	sizeGauge         = gauge("size_bytes", "Size of the data of etcd, of the member with the least room.")
	quotaGauge        = gauge("quota_bytes", "Size of the data of etcd from which on it takes deletions only. etcd's own limit is beyond it.")
	diskFreeGauge     = gauge("disk_free_bytes", "Free space in the file system of the embedded etcd.")
	snapshotTimeGauge = gauge("snapshot_timestamp_seconds", "When the newest snapshot in --etcd-snapshot-dir was taken, 0 without any.")
	snapshotSizeGauge = gauge("snapshot_size_bytes", "Size of the newest snapshot in --etcd-snapshot-dir.")
	intervalGauge     = gauge("snapshot_interval_seconds", "Time from one snapshot to the next, as --etcd-snapshot-interval says.")
	snapshotsTotal    = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slipway_etcd_snapshots_total", Help: "Snapshots that were to be taken, by result: success or error.",
	}, []string{"result"})
)

func gauge(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "slipway_etcd_" + name, Help: help}, nil)
}

func set(g *prometheus.GaugeVec, value float64) { g.WithLabelValues().Set(value) }

// Metrics returns the collectors of the metrics of all stores of the process.
func Metrics() []prometheus.Collector {
	return []prometheus.Collector{
		fullGauge, sizeGauge, quotaGauge, diskFreeGauge, snapshotTimeGauge, snapshotSizeGauge, intervalGauge, snapshotsTotal,
	}
}

// observeSnapshots sets the metrics of those that are kept, the newest first.
func observeSnapshots(all []kept) {
	at, size := 0.0, 0.0
	if len(all) > 0 {
		at = float64(all[0].at.Unix())
		if info, err := os.Stat(all[0].path); err == nil {
			size = float64(info.Size())
		}
	}
	set(snapshotTimeGauge, at)
	set(snapshotSizeGauge, size)
}

func observe(s Space) {
	set(sizeGauge, float64(s.Size))
	set(quotaGauge, float64(s.Quota))
	if s.DiskFree != unknown {
		set(diskFreeGauge, float64(s.DiskFree))
	}
	set(fullGauge, 0)
	if s.level() >= full {
		set(fullGauge, 1)
	}
}
