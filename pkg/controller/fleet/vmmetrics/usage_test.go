// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmmetrics

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

func TestUsage_IsReadAtMostOncePerInterval(t *testing.T) {
	now := time.Unix(0, 0)
	calls, unreachable := 0, false
	sources := map[string]ReadUsage{"default": func(context.Context) (map[types.NamespacedName]vsphere.Usage, error) {
		if calls++; unreachable {
			return nil, errors.New("no response")
		}
		return map[types.NamespacedName]vsphere.Usage{
			{Namespace: "ns", Name: "web"}: {CPU: 1500, Active: 256, Host: 512},
		}, nil
	}}
	c := &usageCollector{read: map[string]usage{}, now: func() time.Time { return now }, vcenters: func() map[string]ReadUsage { return sources }}
	shown := func() map[string]float64 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		return got
	}
	want := map[string]float64{
		"slipway_virtualmachine_cpu_usage_hertz": 1.5e9, "slipway_virtualmachine_memory_active_bytes": 256 << 20, "slipway_virtualmachine_memory_host_bytes": 512 << 20,
	}
	for _, after := range []time.Duration{0, 0, usageInterval - 1} {
		now = time.Unix(0, 0).Add(after)
		if diff := cmp.Diff(want, shown()); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", after, diff)
		}
	}
	if calls != 1 {
		t.Errorf("%d readings within %s, want 1", calls, usageInterval)
	}
	now, unreachable = time.Unix(0, 0).Add(usageInterval), true
	if got := shown(); len(got) != 0 || calls != 2 {
		t.Errorf("a vCenter that does not answer shows %v after %d readings, want nothing after 2", got, calls)
	}
	delete(sources, "default")
	if got := shown(); len(got) != 0 || len(c.read) != 0 {
		t.Errorf("a vCenter that is not in use shows %v, and keeps %v", got, c.read)
	}
}

// Concurrent scrapes must not change the result of each other.
func TestUsage_IsNotChangedDuringAScrape(t *testing.T) {
	now := time.Unix(0, 0)
	read := func(context.Context) (map[types.NamespacedName]vsphere.Usage, error) { return nil, nil }
	c := &usageCollector{read: map[string]usage{}, now: func() time.Time { return now }, vcenters: func() map[string]ReadUsage {
		return map[string]ReadUsage{"default": read}
	}}
	shown := c.latest()
	before := shown["default"].at
	now = now.Add(usageInterval)
	c.latest()
	if after := shown["default"].at; after != before {
		t.Errorf("statistics read at %v are shown with the time %v", before, after)
	}
}

// A copy in another vCenter has the name of the same object.
func TestUsage_IsCollectedOnceForAVMInTwoVCenters(t *testing.T) {
	read := func(context.Context) (map[types.NamespacedName]vsphere.Usage, error) {
		return map[types.NamespacedName]vsphere.Usage{{Namespace: "ns", Name: "web"}: {CPU: 1500}}, nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&usageCollector{read: map[string]usage{}, now: time.Now, vcenters: func() map[string]ReadUsage {
		return map[string]ReadUsage{"one": read, "two": read}
	}})
	families, err := registry.Gather()
	if err != nil || len(families) != 3 || len(families[0].GetMetric()) != 1 {
		t.Errorf("%v, %v", families, err)
	}
}
