// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// ours matches what the servers that are chosen show.
const ours = `job=~"$job"`

func fleet() dashboard {
	const machines = `slipway_virtualmachine_info{job=~"$job", namespace=~"$namespace"}`
	// One that is made has no zone before it is known where it goes.
	in := func(zone string) string {
		return strings.TrimSuffix(machines, "}") + ", zone" + zone + `""}`
	}
	// A phase that none is in any more is 0: without a value a legend would go on with its last one.
	const phases = "count by (phase) (" + machines + ") or 0 * count by (phase) (last_over_time(" + machines + "[15m]))"
	of := func(metric string) string {
		return "slipway_virtualmachine_" + metric + `{job=~"$job", namespace=~"$namespace"}`
	}
	running := of("vcpus") + " * on (namespace, name) " + of("powered_on")
	const ready = `slipway_virtualmachine_condition{job=~"$job", namespace=~"$namespace", type="Ready"}`
	return dashboard{
		title: "Slipway / Fleet", uid: "slipway-fleet", about: "Virtual machines by phase, place and size. The server shows each with --vm-metrics=state or more.",
		filter: "namespace", of: "slipway_virtualmachine_info", by: "Namespace",
		rows: []row{
			{"Now", []panel{
				one("Virtual machines", short, "", "count("+machines+") or vector(0)"),
				one("Powered on", short, "", "sum("+of("powered_on")+") or vector(0)"),
				wrong("Not Ready", "A virtual machine that is off as desired is Ready.", "count("+ready+" != 1) or vector(0)"),
				one("vCPUs of those that run", short, "", "sum("+running+") or vector(0)"),
				one("Memory of those that run", space, "", "sum("+of("memory_bytes")+" * on (namespace, name) "+of("powered_on")+") or vector(0)"),
				one("Storage in use", space, "", "sum("+of("storage_committed_bytes")+") or vector(0)"),
			}},
			{"How they are", []panel{
				lines("By phase", short, "", query{phases, "{{phase}}"}),
				lines("Not Ready, by namespace", short, "", query{"topk(10, sum by (namespace) (" + ready + " != bool 1))", "{{namespace}}"}),
				lines("From creation to the first address", seconds, "Of those that were created meanwhile.", quantiles("slipway_virtualmachine_create_to_address_seconds", ours, "")...),
			}},
			{"Where they are", []panel{
				lines("By zone", short, "", query{"count by (zone) (" + in("!=") + ")", "{{zone}}"}, query{"count(" + in("=") + ") or vector(0)", "none yet"}),
				lines("The ten largest namespaces", short, "", query{"topk(10, count by (namespace) (" + machines + "))", "{{namespace}}"}),
				lines("Storage in use, by zone", space, "", query{"sum by (zone) (" + of("storage_committed_bytes") + " * on (namespace, name) group_left (zone) " + in("!=") + ")", "{{zone}}"}),
			}},
			{"What they use", []panel{
				lines("CPU in use, by namespace", hertz, "With --vm-metrics=usage.", query{"topk(10, sum by (namespace) (" + of("cpu_usage_hertz") + "))", "{{namespace}}"}),
				lines("Memory", space, "What they have; and with --vm-metrics=usage what their guests use and what their hosts give.",
					query{"sum(" + of("memory_bytes") + ")", "what they have"}, query{"sum(" + of("memory_active_bytes") + ")", "what their guests use"}, query{"sum(" + of("memory_host_bytes") + ")", "what their hosts give"}),
				lines("The ten that use most CPU", hertz, "With --vm-metrics=usage.", query{"topk(10, " + of("cpu_usage_hertz") + ")", "{{namespace}}/{{name}}"}),
			}},
			{"Readiness probes", []panel{
				lines("Tries", rates, "", query{"sum by (result) (rate(slipway_probe_tries_total{" + ours + "}[$__rate_interval]))", "{{result}}"}),
				lines("Probes and connections", short, "", query{"sum(slipway_probes{" + ours + "})", "probes"}, query{"sum(slipway_probe_connections{" + ours + "})", "connections"}),
			}},
		},
	}
}
