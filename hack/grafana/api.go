// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

func api() dashboard {
	const kinds = ours + `, group=~".*slipway.dev"`
	const answered = kinds + `, verb!~"WATCH|CONNECT"`
	used := one("The store, of its quota", percent, "From 95 % on nothing can be created.", "max(etcd_mvcc_db_total_size_in_bytes{"+ours+"} / slipway_etcd_quota_bytes{"+ours+"})")
	used.bad = 0.8
	return dashboard{
		title: "Slipway / API", uid: "slipway-api", about: "Requests to the API of Slipway, its store, and the process. What is said of the store is of the embedded etcd.",
		rows: []row{
			{"Now", []panel{
				one("Requests", asked, "", "sum(rate(apiserver_request_total{"+kinds+"}[$__rate_interval]))"),
				one("Watches", short, "", `sum(apiserver_longrunning_requests{`+kinds+`, verb="WATCH"})`),
				one("Objects", short, "", "max(sum by (instance) (apiserver_resource_objects{"+kinds+"}))"),
				used,
				wrong("The store is full", "", "max(slipway_etcd_full{"+ours+"})"),
				one("Members without a leader", short, "", "count(etcd_server_has_leader{"+ours+"} == 0) or vector(0)"),
			}},
			{"Requests", []panel{
				lines("By verb", asked, "", query{"sum by (verb) (rate(apiserver_request_total{" + kinds + "}[$__rate_interval]))", "{{verb}}"}),
				lines("How long they took, by verb", seconds, "The 99th percentile, without watches.", longest("apiserver_request_duration_seconds", answered, "verb")),
				lines("Not answered as asked, by code", asked, "Codes from 400 on.", query{`sum by (code) (rate(apiserver_request_total{` + kinds + `, code=~"[45].."}[$__rate_interval]))`, "{{code}}"}),
			}},
			{"Who and what", []panel{
				lines("By resource", asked, "", query{"topk(10, sum by (resource, subresource) (rate(apiserver_request_total{" + kinds + "}[$__rate_interval])))", "{{resource}} {{subresource}}"}),
				lines("At once", short, "", query{"sum by (request_kind) (apiserver_current_inflight_requests{" + ours + "})", "{{request_kind}}"},
					query{"sum(apiserver_flowcontrol_current_inqueue_requests{" + ours + "})", "waiting for their turn"}),
				lines("Events of watches, by resource", told, "", query{"topk(10, sum by (resource) (rate(apiserver_watch_events_total{" + kinds + "}[$__rate_interval])))", "{{resource}}"}),
				lines("Asking the host cluster for rights", seconds, "", quantiles("apiserver_delegated_authz_request_duration_seconds", ours, "")...),
			}},
			{"Store", []panel{
				lines("How long it took, by operation", seconds, "The 99th percentile.", longest("etcd_request_duration_seconds", ours, "operation")),
				lines("The disk", seconds, "More than 10 ms and 25 ms in the 99th percentile is slow.",
					quantiles("etcd_disk_wal_fsync_duration_seconds", ours, "")[1].named("log"), quantiles("etcd_disk_backend_commit_duration_seconds", ours, "")[1].named("commit")),
				lines("Room", space, "", query{"max(etcd_mvcc_db_total_size_in_bytes{" + ours + "})", "data"}, query{"max(etcd_mvcc_db_total_size_in_use_in_bytes{" + ours + "})", "in use of it"},
					query{"min(slipway_etcd_quota_bytes{" + ours + "})", "quota"}, query{"min(slipway_etcd_disk_free_bytes{" + ours + "})", "free on its disk"}),
				lines("Age of the newest backup", seconds, "With --etcd-snapshot-dir.", query{"time() - max(slipway_etcd_snapshot_timestamp_seconds{" + ours + "})", "age"}),
			}},
			{"Process", []panel{
				lines("Memory", space, "", query{"process_resident_memory_bytes{" + ours + "}", "{{instance}}"}),
				lines("CPU", short, "Cores.", query{"rate(process_cpu_seconds_total{" + ours + "}[$__rate_interval])", "{{instance}}"}),
				lines("Goroutines", short, "", query{"go_goroutines{" + ours + "}", "{{instance}}"}),
			}},
		},
	}
}

// named is a query whose line has another name.
func (q query) named(legend string) query {
	q.legend = legend
	return q
}
