// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
)

func TestMetricsOfTheEmbeddedEtcdAreServed(t *testing.T) {
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	registerEtcdMetrics()
	registerEtcdMetrics() // by a second server of the process
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd_disk_wal_fsync_duration_seconds", "etcd_mvcc_db_total_size_in_bytes", "etcd_server_quota_backend_bytes"} {
		if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name }) {
			t.Errorf("%s is not served", name)
		}
	}
}
