// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

func vcenter() dashboard {
	const in = `job=~"$job", vcenter=~"$vcenter"`
	of := func(metric string) string { return "slipway_provider_" + metric + "{" + in + "}" }
	const calls = "slipway_vcenter_call_duration_seconds"
	silent := one("Silent for", seconds, "Time since the stream of changes answered; it answers every 30 s if nothing changes.", "max("+of("stream_age_seconds")+")")
	silent.bad = 120
	return dashboard{
		title: "Slipway / vCenter", uid: "slipway-vcenter", about: "What is asked of vCenters, and how they answer.",
		filter: "vcenter", of: "slipway_provider_places", by: "vCenter",
		rows: []row{
			{"Now", []panel{
				silent,
				one("Virtual machines", short, "VMs of objects.", "sum("+of("virtual_machines")+")"),
				wrong("Missing", "VMs that vCenter does not show any more.", "sum("+of("missing_virtual_machines")+")"),
				wrong("Many are missing", "While it is 1, none is created that was there before, and none is deleted.", "max("+of("many_missing")+")"),
				one("Orphans", short, "VMs whose object does not exist: virtctl orphans.", "sum("+of("orphaned_virtual_machines")+")"),
				one("Leases that are held", short, "One for each vCenter, and one for the other controllers.", `sum(leader_election_master_status{`+ours+`, name=~"slipway-.*"})`),
			}},
			{"Operations", []panel{
				lines("Running, by kind", short, "", query{"sum by (operation) (" + of("operations") + ")", "{{operation}}"}),
				lines("How long they took, by kind", seconds, "The 99th percentile.", longest("slipway_provider_operation_duration_seconds", in, "operation")),
				lines("Ended, by result", rates, "", query{"sum by (operation, result) (rate(slipway_provider_operation_duration_seconds_count{" + in + "}[$__rate_interval]))", "{{operation}} {{result}}"}),
			}},
			{"Places", []panel{
				lines("Used, of those that there are", percent, "Used up for long, with many that wait, is a vCenter at its limit (--concurrent-*).",
					query{"sum by (vcenter, class) (" + of("places_used") + ") / sum by (vcenter, class) (" + of("places") + ")", "{{vcenter}} {{class}}"}),
				lines("Waiting, by class", short, "", query{"sum by (class) (" + of("places_waiting") + ")", "{{class}}"}),
			}},
			{"Calls", []panel{
				lines("Calls, by method", asked, "WaitForUpdatesEx, which waits, is left out.", query{"topk(10, sum by (method) (rate(" + calls + `_count{` + in + `, method!="WaitForUpdatesEx"}[$__rate_interval])))`, "{{method}}"}),
				lines("How long they took", seconds, "WaitForUpdatesEx is left out.", quantiles(calls, in+`, method!="WaitForUpdatesEx"`, "vcenter")...),
				lines("Not answered, or refused", asked, "Nothing is shown while all calls succeed.", query{"sum by (method, outcome) (rate(" + calls + `_count{` + in + `, outcome!="ok"}[$__rate_interval]))`, "{{method}} {{outcome}}"}),
			}},
			{"What they tell", []panel{
				lines("Events of virtual machines", told, "Events that vCenters told.", query{"sum by (result) (rate(slipway_vcenter_events_total{" + ours + "}[$__rate_interval]))", "{{result}}"}),
				lines("Silence of each", seconds, "", query{"max by (vcenter) (" + of("stream_age_seconds") + ")", "{{vcenter}}"}),
			}},
		},
	}
}
