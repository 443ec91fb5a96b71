// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/prometheus/client_golang/prometheus"

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
	for _, m := range members {
		engine.NewCollector(m.Engine, m.host, findOrphans(m.Engine, c.informers)).Collect(to)
		for _, missing := range missingCollectors(m.host, m.Missing) {
			missing.Collect(to)
		}
	}
}

// orphans finds those of each vCenter in use, by its host.
func (v *vcenters) orphans(informers externalversions.SharedInformerFactory) map[string]engine.FindOrphans {
	members, _ := v.fleet.Members()
	find := map[string]engine.FindOrphans{}
	for _, m := range members {
		find[m.host] = findOrphans(m.Engine, informers)
	}
	return find
}
