// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// priorities are what virtual machines wait for, as docs/operations.md tells.
var priorities = [][2]string{
	{"100", "100 not created yet"}, {"99", "99 power change"}, {"98", "98 deletion"}, {"97", "97 waits for an address"}, {"96", "96 disk promotion"},
	{"-1", "-1 initial list"}, {"-2", "-2 update"}, {"-3", "-3 delete event"}, {"-4", "-4 resync, other objects"},
}

// called is a panel whose lines have other names.
func (p panel) called(names [][2]string) panel {
	p.names = names
	return p
}

func queue() dashboard {
	const machines = ours + `, name="virtualmachine"`
	const others = ours + `, name=~"$name"`
	return dashboard{
		title: "Slipway / Queue", uid: "slipway-queue", about: "What the controllers have to do, and how they get on with it.",
		filter: "name", of: "workqueue_depth", by: "Queue",
		rows: []row{
			{"Now", []panel{
				one("Virtual machines that wait", short, "", "sum(workqueue_depth{"+machines+"})"),
				one("Workers that are busy", short, "", `sum(slipway_controller_active_workers{`+ours+`, controller="virtualmachine"})`),
				one("The oldest pass", seconds, "Seconds mean that something hangs.", "max(workqueue_longest_running_processor_seconds{"+machines+"})"),
				wrong("Panics", "Must be 0.", "sum(slipway_controller_reconcile_panics_total{"+ours+"})"),
			}},
			{"Virtual machines", []panel{
				lines("Waiting, by priority", short, "Those of higher priority go first.", query{"sum by (priority) (workqueue_depth{" + machines + "})", "{{priority}}"}).called(priorities),
				lines("How long they waited, by priority", seconds, "The 99th percentile.", longest("workqueue_queue_duration_seconds", machines, "priority")).called(priorities),
				lines("How long a pass took", seconds, "", quantiles("workqueue_work_duration_seconds", machines, "")...),
			}},
			{"Passes", []panel{
				lines("By controller", rates, "", query{"sum by (controller) (rate(slipway_controller_reconcile_total{" + ours + "}[$__rate_interval]))", "{{controller}}"}),
				lines("Failed, by controller", rates, "What failed is tried again.", query{`sum by (controller) (rate(slipway_controller_reconcile_total{` + ours + `, result="error"}[$__rate_interval]))`, "{{controller}}"}),
				lines("Busy, by controller", short, "How many workers were busy on average.", query{"sum by (controller) (rate(slipway_controller_reconcile_seconds_total{" + ours + "}[$__rate_interval]))", "{{controller}}"}),
			}},
			{"All queues", []panel{
				lines("Waiting", short, "", query{"topk(10, sum by (name) (workqueue_depth{" + others + "}))", "{{name}}"}),
				lines("Added", rates, "", query{"topk(10, sum by (name) (rate(workqueue_adds_total{" + others + "}[$__rate_interval])))", "{{name}}"}),
				lines("Put off", rates, "What failed and is tried again, and what is to happen later, as the next try of a probe.", query{"topk(10, sum by (name) (rate(workqueue_retries_total{" + others + "}[$__rate_interval])))", "{{name}}"}),
				lines("Work that is not done", seconds, "The time that passes in work have taken so far.", query{"topk(10, max by (name) (workqueue_unfinished_work_seconds{" + others + "}))", "{{name}}"}),
			}},
		},
	}
}
