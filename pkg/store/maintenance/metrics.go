// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics exist once per process. A gauge is not exposed before it has a value.
var (
	fullGauge         = gauge("full", "1 while etcd accepts only deletions, or no writes, because the quota is reached.")
	sizeGauge         = gauge("size_bytes", "Size of the etcd database, of the member with the least free space.")
	quotaGauge        = gauge("quota_bytes", "Database size above which only deletions are accepted. etcd's own limit is higher.")
	diskFreeGauge     = gauge("disk_free_bytes", "Free space in the file system of the embedded etcd.")
	snapshotTimeGauge = gauge("snapshot_timestamp_seconds", "Time of the newest snapshot in --etcd-snapshot-dir, 0 if there is none.")
	snapshotSizeGauge = gauge("snapshot_size_bytes", "Size of the newest snapshot in --etcd-snapshot-dir.")
	intervalGauge     = gauge("snapshot_interval_seconds", "Interval of snapshots, the value of --etcd-snapshot-interval.")
	snapshotsTotal    = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slipway_etcd_snapshots_total", Help: "Attempts to take a snapshot, by result: success or error.",
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

// observeSnapshots sets the metrics of the stored snapshots. The newest is first.
func observeSnapshots(all []snapshotFile) {
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
