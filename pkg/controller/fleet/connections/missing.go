// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"github.com/prometheus/client_golang/prometheus"
)

// missingCollectors tell of the virtual machines that a vCenter, by its host, does not show
// any more. Those of several vCenters can be registered beside each other.
func missingCollectors(vcenter string, missing func() (machines int, many bool)) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name, Help: help, ConstLabels: prometheus.Labels{"vcenter": vcenter},
		}, value)
	}
	return []prometheus.Collector{
		gauge("slipway_provider_missing_virtual_machines",
			"Number of virtual machines that vCenter had and does not show any more.",
			func() float64 { n, _ := missing(); return float64(n) }),
		gauge("slipway_provider_many_missing",
			"1 while so many virtual machines are missing that none that was there before is created or deleted.",
			func() float64 {
				if _, many := missing(); many {
					return 1
				}
				return 0
			}),
	}
}
