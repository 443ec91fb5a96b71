// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
)

// fleetCollector shows the metrics of each vCenter that is in use at the moment.
type fleetCollector struct {
	used      *vcenters
	informers externalversions.SharedInformerFactory
}

// Describe implements prometheus.Collector. Nothing is promised: vCenters come and go.
func (*fleetCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *fleetCollector) Collect(to chan<- prometheus.Metric) {
	members, _ := c.used.fleet.Members()
	shown := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		host := m.host
		if shown[host] {
			host += " (" + name + ")" // One series twice, and no metric of the server would be shown.
		}
		shown[host] = true
		engine.NewCollector(m.Engine, host, findOrphans(m.Engine, c.informers)).Collect(to)
		if heard := m.driver.Heard(); !heard.IsZero() {
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc("slipway_provider_stream_age_seconds",
				"Time since the stream of changes answered last, if only that nothing has changed.", nil, prometheus.Labels{"vcenter": host}),
				prometheus.GaugeValue, time.Since(heard).Seconds())
		}
		if skew, known := m.driver.Skew(); known {
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc("slipway_provider_clock_skew_seconds",
				"How far the clock of vCenter is ahead of that of the server; negative if it is behind.", nil, prometheus.Labels{"vcenter": host}),
				prometheus.GaugeValue, skew.Seconds())
		}
		for _, missing := range missingCollectors(host, m.Missing) {
			missing.Collect(to)
		}
	}
}

// orphans finds those of each vCenter that there is, by its host; nil for one that is not in
// use here. It is empty while it is not known which there are.
func (v *vcenters) orphans(informers externalversions.SharedInformerFactory) map[string]engine.FindOrphans {
	return each(v, func(e *engine.Engine) engine.FindOrphans { return findOrphans(e, informers) })
}

// keepers are those of each vCenter, likewise.
func (v *vcenters) keepers(informers externalversions.SharedInformerFactory) map[string]*keeper {
	return each(v, func(e *engine.Engine) *keeper { return keeperOf(e, informers) })
}

// each makes something of each vCenter, by its host: the zero value of one that is not in use
// here. It is nil while it is not known which there are.
func each[T any](v *vcenters, of func(*engine.Engine) T) map[string]T {
	if !v.zones.known() {
		return nil
	}
	out := map[string]T{}
	for _, host := range v.zones.hosts(v.deps.options.VCenter.URL) {
		out[host] = *new(T)
	}
	members, _ := v.fleet.Members()
	for _, m := range members {
		out[m.host] = of(m.Engine)
	}
	return out
}

// hosts are those of all vCenters; flags is the URL of the one that the flags describe.
func (s *zoneSet) hosts(flags string) (all []string) {
	objects, err := s.vcenters.List(labels.Everything())
	if err != nil {
		return nil // a cache does not fail
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
