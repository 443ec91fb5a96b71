// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vmmetrics"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
)

// Collectors returns the metrics of vCenters.
func (v *Manager) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&fleetCollector{v}, v.durations.calls, v.durations.operations}
}

// fleetCollector collects the metrics of each vCenter that is in use at the moment.
type fleetCollector struct{ used *Manager }

// Describe implements prometheus.Collector. It describes nothing, because vCenters are added and removed.
func (*fleetCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *fleetCollector) Collect(to chan<- prometheus.Metric) {
	members, _ := c.used.fleet.Members()
	shown := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		host := m.host
		if shown[host] {
			host += " (" + name + ")" // a duplicate series would make the whole scrape fail
		}
		shown[host] = true
		engine.NewCollector(m.Engine, host, c.used.findOrphans(m.Engine)).Collect(to)
		if last := m.driver.LastStreamResponse(); !last.IsZero() {
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc("slipway_provider_stream_age_seconds",
				"Time since the last response of the property stream, with or without changes.", nil, prometheus.Labels{"vcenter": host}),
				prometheus.GaugeValue, time.Since(last).Seconds())
		}
		if skew, known := m.driver.Skew(); known {
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc("slipway_provider_clock_skew_seconds",
				"Difference between the clocks of vCenter and the server; positive if vCenter is ahead.", nil, prometheus.Labels{"vcenter": host}),
				prometheus.GaugeValue, skew.Seconds())
		}
		for _, missing := range missingCollectors(host, m.Missing) {
			missing.Collect(to)
		}
	}
}

// Orphans returns a function that finds orphans for each vCenter, by host. It is nil for a vCenter that this replica does not
// use. The map is empty while the vCenters are not known.
func (v *Manager) Orphans() map[string]engine.FindOrphans {
	all := map[string]engine.FindOrphans{}
	for host, e := range v.Engines() {
		if all[host] = nil; e != nil {
			all[host] = v.findOrphans(e)
		}
	}
	return all
}

// Engines returns the engine of each vCenter, by host. It is nil for a vCenter that this replica does not use. The map is empty
// while the vCenters are not known.
func (v *Manager) Engines() map[string]*engine.Engine {
	if !v.zones.known() {
		return nil
	}
	out := map[string]*engine.Engine{}
	flags := ""
	if v.opts.Flags != nil {
		flags = v.opts.Flags.URL
	}
	for _, host := range v.zones.hosts(flags) {
		out[host] = nil
	}
	members, _ := v.fleet.Members()
	for _, m := range members {
		out[m.host] = m.Engine
	}
	return out
}

// Usage returns a function for each vCenter of this replica, by name, that reads the CPU and memory usage of VMs.
func (v *Manager) Usage() map[string]vmmetrics.ReadUsage {
	members, _ := v.fleet.Members()
	out := map[string]vmmetrics.ReadUsage{}
	for name, m := range members {
		out[name] = m.driver.Usage
	}
	return out
}

// findOrphans returns a function that finds the orphans of e by comparing it with the objects in the cache.
func (v *Manager) findOrphans(e *engine.Engine) engine.FindOrphans {
	s := v.zones
	return func() ([]engine.Orphan, bool) {
		if !s.listed() {
			return nil, false
		}
		return e.Orphans(func(key types.NamespacedName, uid types.UID) (string, bool) {
			vm, err := s.machines.VirtualMachines(key.Namespace).Get(key.Name)
			if err != nil || vm.UID != uid {
				return "", false
			}
			return vm.Status.UniqueID, true
		})
	}
}

// hosts returns the hosts of all vCenters. flags is the URL from flags.
func (s *zoneSet) hosts(flags string) (all []string) {
	objects, err := s.vcenters.List(labels.Everything())
	if err != nil {
		return nil // a lister does not return errors
	}
	for _, vc := range objects {
		all = append(all, hostOf(vc.Spec.URL))
		if vc.Name == vmv1alpha1.DefaultVCenter {
			flags = ""
		}
	}
	if flags != "" {
		all = append(all, hostOf(flags))
	}
	return all
}
