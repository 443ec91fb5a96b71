// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/slipway-dev/slipway/pkg/controller/fleet/connections"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

func TestMetrics_IncludeTheEmbeddedEtcd(t *testing.T) {
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	registerEmbeddedMetrics()
	registerEmbeddedMetrics() // by a second server in the process
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

func TestNetworks_NamedByBothFlagsReadNothing(t *testing.T) {
	host := fake.NewClientset()
	guests, clusters, addresses, err := newNetworks(&Options{Probes: ProbeOptions{Networks: []string{"10.0.0.0/8", "fd00::/8"}}, Workloads: WorkloadOptions{Networks: []string{"192.0.2.0/24"}}}, host)
	if err != nil || addresses != nil {
		t.Fatalf("addresses %v, %v; want none to read", addresses, err)
	}
	for _, tc := range []struct {
		networks        *networks.Networks
		allowed, denied []string
	}{
		{&guests, []string{"10.96.0.1", "fd00::1"}, []string{"192.0.2.1", "127.0.0.1"}},
		{&clusters, []string{"192.0.2.1"}, []string{"10.96.0.1"}},
	} {
		for _, text := range tc.allowed {
			if err := tc.networks.Check(netip.MustParseAddr(text)); err != nil {
				t.Errorf("%s: %v, want no error", text, err)
			}
		}
		for _, text := range tc.denied {
			var deny *networks.DeniedError
			if err := tc.networks.Check(netip.MustParseAddr(text)); !errors.As(err, &deny) {
				t.Errorf("%s: %v, want a DeniedError", text, err)
			}
		}
	}
	if got := len(host.Actions()); got != 0 {
		t.Errorf("%d requests to the management cluster, want none", got)
	}
}

// A killed process does not release its Lease.
func TestLease_OfAKilledProcessIsAcquiredImmediately(t *testing.T) {
	o := NewOptions()
	o.DataDir = t.TempDir()
	killed, err := lease.ReplicaName(filepath.Join(o.DataDir, embedded.IdentityFile))
	if err != nil {
		t.Fatal(err)
	}
	seconds, now := int32(3600), metav1.NowMicro()
	all := []string{connections.ControllersLease, "slipway-vcenter-default"}
	var held []runtime.Object
	for _, name := range all {
		held = append(held, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &killed, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
			},
		})
	}
	leases, err := newLeases(o, fake.NewClientset(held...), true, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leases.Close)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for _, name := range all {
		leases.Contend(t.Context(), name, name != connections.ControllersLease)
		if err := leases.Await(ctx, name); err != nil {
			t.Fatalf("the Lease %s is not held: %v", name, err)
		}
	}
}

func TestAdmission_ChargesQuotasLast(t *testing.T) {
	order := NewOptions().Recommended.Admission.RecommendedPluginOrder
	if last := order[len(order)-1]; last != "ResourceQuota" || slices.Index(order, last) != len(order)-1 {
		t.Errorf("the order of plugins is %v, want ResourceQuota last", order)
	}
}
