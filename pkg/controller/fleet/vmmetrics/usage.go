// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmmetrics

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

const (
	// usageInterval is the real-time interval of vSphere's statistics.
	usageInterval = 20 * time.Second
	// usageTimeout is the time limit for reading statistics from vCenter during a scrape.
	usageTimeout = 5 * time.Second
)

var (
	machineCPUUsage     = machineDesc("cpu_usage_hertz", "CPU usage of a virtual machine.")
	machineGuestMemory  = machineDesc("memory_active_bytes", "Active memory of the guest of a virtual machine, as estimated by vSphere.")
	machineHostedMemory = machineDesc("memory_host_bytes", "Host memory consumed by a virtual machine.")
)

// usageCollector collects the usage of individual VMs. It reads a vCenter only during a scrape, and at most once per
// usageInterval.
type usageCollector struct {
	// vcenters returns the functions that read the usage, by name of the vCenter.
	vcenters func() map[string]ReadUsage
	now      func() time.Time

	mu   sync.Mutex
	read map[string]usage
}

// ReadUsage reads the usage of VMs in a vCenter, by the names of their objects.
type ReadUsage func(ctx context.Context) (map[types.NamespacedName]vsphere.Usage, error)

// usage is the result of ReadUsage at a time.
type usage struct {
	at  time.Time
	all map[types.NamespacedName]vsphere.Usage
}

// Describe implements prometheus.Collector.
func (*usageCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{machineCPUUsage, machineGuestMemory, machineHostedMemory} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *usageCollector) Collect(to chan<- prometheus.Metric) {
	const mega, mebi = 1_000_000, 1 << 20
	read := c.latest()
	shown := map[types.NamespacedName]bool{}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		for key, u := range read[name].all {
			if shown[key] {
				continue // a duplicate series would make the whole scrape fail
			}
			shown[key] = true
			gauge := func(d *prometheus.Desc, value, unit int64) {
				to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value*unit), key.Namespace, key.Name)
			}
			gauge(machineCPUUsage, int64(u.CPU), mega)
			gauge(machineGuestMemory, int64(u.Active), mebi)
			gauge(machineHostedMemory, int64(u.Host), mebi)
		}
	}
}

// latest returns the usage of all vCenters. It reads outdated usage from all vCenters concurrently. A vCenter that does not
// answer has no usage.
func (c *usageCollector) latest() map[string]usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), usageTimeout)
	defer cancel()
	sources, now := c.vcenters(), c.now()
	for name := range c.read {
		if sources[name] == nil {
			delete(c.read, name)
		}
	}
	var reading sync.WaitGroup
	var mu sync.Mutex
	for name, read := range sources {
		if before, ok := c.read[name]; ok && now.Sub(before.at) < usageInterval {
			continue
		}
		reading.Go(func() {
			all, err := read(ctx)
			if err != nil {
				klog.Background().Info("Reading the usage of virtual machines failed", "vCenter", name, "cause", err.Error())
			}
			mu.Lock()
			defer mu.Unlock()
			c.read[name] = usage{at: now, all: all}
		})
	}
	reading.Wait()
	return maps.Clone(c.read) // the next scrape changes the map
}
