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
	// usageInterval is how often vSphere makes new statistics: its real-time interval.
	usageInterval = 20 * time.Second
	// usageTimeout bounds what who asks for metrics waits for vCenter.
	usageTimeout = 5 * time.Second
)

var (
	machineCPUUsage     = machineDesc("cpu_usage_hertz", "CPU that a virtual machine uses.")
	machineGuestMemory  = machineDesc("memory_active_bytes", "Memory that the guest of a virtual machine uses, as vSphere estimates.")
	machineHostedMemory = machineDesc("memory_host_bytes", "Memory of its host that a virtual machine takes.")
)

// usageCollector shows what single virtual machines use. Nothing is read from a vCenter
// unless somebody asks, and then at most as often as there is something new.
type usageCollector struct {
	// vcenters are the readings of those in use, by name.
	vcenters func() map[string]ReadUsage
	now      func() time.Time

	mu   sync.Mutex
	read map[string]usage
}

// ReadUsage reads usage from a vCenter, by the names of the objects.
type ReadUsage func(ctx context.Context) (map[types.NamespacedName]vsphere.Usage, error)

// usage is what was read.
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
				continue // One series twice, and no metric of the server would be shown.
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

// latest reads what is older than there may be news, from all vCenters at a time. One that
// does not answer shows nothing.
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
				klog.Background().Info("What virtual machines use is not known", "vCenter", name, "cause", err.Error())
			}
			mu.Lock()
			defer mu.Unlock()
			c.read[name] = usage{at: now, all: all}
		})
	}
	reading.Wait()
	return maps.Clone(c.read) // which the next one to ask changes
}
