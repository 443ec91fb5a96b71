// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"github.com/prometheus/client_golang/prometheus"
)

// missingCollectors returns collectors for the VMs that are missing in a vCenter. Collectors of several vCenters can be registered
// together.
func missingCollectors(vcenter string, missing func() (machines int, many bool)) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name, Help: help, ConstLabels: prometheus.Labels{"vcenter": vcenter},
		}, value)
	}
	return []prometheus.Collector{
		gauge("slipway_provider_missing_virtual_machines",
			"Number of virtual machines that vCenter no longer reports.",
			func() float64 { n, _ := missing(); return float64(n) }),
		gauge("slipway_provider_many_missing",
			"1 while the circuit breaker is tripped: so many virtual machines are missing that existing ones are neither recreated nor deleted.",
			func() float64 {
				if _, many := missing(); many {
					return 1
				}
				return 0
			}),
	}
}
