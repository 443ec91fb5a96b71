// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/test/performance/pages"
)

// Budgets of the design, by virtual machine.
const (
	budgetWrites = 5
	budgetCalls  = 12
	budgetCPU    = 0.10 // seconds
)

// streams are calls that wait for changes of all machines. Their number shows how many changes were batched.
const streams = "WaitForUpdatesEx"

func table(header ...string) {
	fmt.Printf("\n| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
}

func row(cells ...string) { fmt.Printf("| %s |\n", strings.Join(cells, " | ")) }

// quantile of sorted values, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(i, 0)]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func printBursts(bursts []burst) {
	header := []string{"virtual machines submitted together"}
	for _, b := range bursts {
		header = append(header, fmt.Sprint(b.machines))
	}
	table(header...)
	line := func(name string, cell func(b burst) string) {
		cells := []string{name}
		for _, b := range bursts {
			cells = append(cells, cell(b))
		}
		row(cells...)
	}
	per := func(n float64, b burst) string { return fmt.Sprintf("%.2f", n/float64(b.machines)) }
	cpu := func(b burst, parts ...string) string {
		var sum time.Duration
		for _, p := range parts {
			sum += b.spent.cpu[p]
		}
		return fmt.Sprintf("%.4f s", sum.Seconds()/float64(b.machines))
	}
	line("all submitted after", func(b burst) string { return seconds(b.submitted) })
	line("all powered on with an address after", func(b burst) string { return seconds(b.all) })
	line("one of them, p50 / p99 / longest", func(b burst) string {
		return seconds(quantile(b.each, 0.5)) + " / " + seconds(quantile(b.each, 0.99)) + " / " + seconds(quantile(b.each, 1))
	})
	line(fmt.Sprintf("writes of the VM object by the controllers, each (budget %d)", budgetWrites),
		func(b burst) string { return per(writes(b.spent.slipway), b) })
	line(fmt.Sprintf("vSphere calls, each (budget %d)", budgetCalls), func(b burst) string { return per(total(b.spent.calls), b) })
	line("… without those of the shared stream", func(b burst) string { return per(total(b.spent.calls)-b.spent.calls[streams], b) })
	line(fmt.Sprintf("CPU of slipway-apiserver with its etcd + kube-apiserver, each (budget %.2f s)", budgetCPU),
		func(b burst) string { return cpu(b, partSlipway, partHost) })
	line("… slipway-apiserver", func(b burst) string { return cpu(b, partSlipway) })
	line("… kube-apiserver", func(b burst) string { return cpu(b, partHost) })
	line("CPU of the simulated vCenter, each", func(b burst) string { return cpu(b, partVCenter) })
	line("CPU of load generator and etcd of kube-apiserver, each", func(b burst) string { return cpu(b, self) })
	line("passes, each", func(b burst) string { return per(b.spent.passes, b) })
	for _, b := range bursts {
		printRequests(b)
	}
}

// printRequests lists the requests of a burst that grow with the number of its machines.
func printRequests(b burst) {
	table(fmt.Sprintf("requests of one of %d machines", b.machines), "number")
	n := float64(b.machines)
	list := func(server string, counts map[pages.Request]float64) {
		keys := slices.SortedFunc(maps.Keys(counts), func(x, y pages.Request) int { return cmp.Compare(counts[y], counts[x]) })
		for _, k := range keys {
			if counts[k]/n >= 0.01 {
				row(fmt.Sprintf("%s: %s %s, %s", server, k.Verb, k.Resource, k.Code), fmt.Sprintf("%.2f", counts[k]/n))
			}
		}
	}
	list(partSlipway, b.spent.slipway)
	list(partHost, b.spent.host)
	methods := slices.SortedFunc(maps.Keys(b.spent.calls), func(x, y string) int { return cmp.Compare(b.spent.calls[y], b.spent.calls[x]) })
	for _, m := range methods {
		if b.spent.calls[m]/n >= 0.01 {
			row("vSphere: "+m, fmt.Sprintf("%.2f", b.spent.calls[m]/n))
		}
	}
}

// writes returns the successful writes of virtual machines that users do not send in a measurement: users only create.
func writes(counts map[pages.Request]float64) float64 {
	var n float64
	for r, count := range counts {
		resource, _, _ := strings.Cut(r.Resource, "/")
		if resource == "virtualmachines" && (r.Verb == "PUT" || r.Verb == "PATCH" || r.Verb == "APPLY") && r.Code == "200" {
			n += count
		}
	}
	return n
}

func total(counts map[string]float64) float64 {
	var n float64
	for _, count := range counts {
		n += count
	}
	return n
}

func printFill(f filled, machines int) {
	if f.machines == 0 {
		return
	}
	n := float64(f.machines)
	fmt.Printf("\n%d more machines, to %d, took %.0f s; CPU of each: slipway-apiserver %.4f s, kube-apiserver %.4f s, simulated vCenter %.4f s.\n",
		f.machines, machines, f.took.Seconds(), f.spent[partSlipway].Seconds()/n, f.spent[partHost].Seconds()/n, f.spent[partVCenter].Seconds()/n)
}

func printSteady(all []steady) {
	table("one pass over stable machines", "passes", "took", "writes of VMs", "all writes", "vSphere calls", "… of the stream that waits", "CPU of slipway-apiserver per pass")
	for _, s := range all {
		row(fmt.Sprint(s.machines), fmt.Sprintf("%.0f", s.spent.passes), seconds(s.took),
			fmt.Sprintf("%.0f", writes(s.spent.slipway)), fmt.Sprintf("%.0f", changes(s.spent.slipway)),
			fmt.Sprintf("%.0f", total(s.spent.calls)-s.spent.calls[streams]), fmt.Sprintf("%.0f", s.spent.calls[streams]),
			fmt.Sprintf("%.0f µs", float64(s.spent.cpu[partSlipway].Microseconds())/s.spent.passes))
	}
}

// changes returns all requests that change something, except those that start the pass.
func changes(counts map[pages.Request]float64) float64 {
	var n float64
	for r, count := range counts {
		switch r.Verb {
		case "GET", "LIST", "WATCH", "CONNECT":
		default:
			if r.Resource != "virtualmachineimages" {
				n += count
			}
		}
	}
	return n
}

func printMemory(all []memory) {
	const mib, kib = 1 << 20, 1 << 10
	table("memory of slipway-apiserver with its etcd", "heap after GC", "per VM beyond the first row", "resident, anonymous", "per VM", "resident, files", "protobuf of VM + VMI")
	for i, m := range all {
		each, eachResident := "", ""
		if n := float64(m.machines - all[0].machines); i > 0 && n > 0 {
			each = fmt.Sprintf("%.1f KiB", (m.heap-all[0].heap)/n/kib)
			eachResident = fmt.Sprintf("%.1f KiB", (m.anonymous-all[0].anonymous)/n/kib)
		}
		row(fmt.Sprintf("%d machines%s", m.machines, m.note), fmt.Sprintf("%.1f MiB", m.heap/mib), each,
			fmt.Sprintf("%.1f MiB", m.anonymous/mib), eachResident, fmt.Sprintf("%.1f MiB", m.file/mib), fmt.Sprintf("%.1f KiB", float64(m.object)/kib))
	}
}

func printRestarts(all []restart, machines int) {
	if len(all) == 0 {
		return
	}
	table(fmt.Sprintf("%d restarts with %d stable machines", len(all), machines), "p50", "p99", "longest")
	line := func(name string, value func(r restart) time.Duration, unit func(time.Duration) string) {
		var values []time.Duration
		for _, r := range all {
			values = append(values, value(r))
		}
		slices.Sort(values)
		row(name, unit(quantile(values, 0.5)), unit(quantile(values, 0.99)), unit(quantile(values, 1)))
	}
	line("start of the process to ready: caches filled, inventory read", func(r restart) time.Duration { return r.synced }, seconds)
	line("… to the end of the passes over all", func(r restart) time.Duration { return r.drained }, seconds)
	line("new VM, made when ready: event to the first vSphere call that names it", func(r restart) time.Duration { return r.late.reaction() }, millis)
	line("new VM, made 1 s after the start: event until it is created", func(r restart) time.Duration { return r.early.creation() }, seconds)
	line("new VM, made when ready: event until it is created", func(r restart) time.Duration { return r.late.creation() }, seconds)
	queued, early, passes, writes := 0, 0, 0.0, 0.0
	for _, r := range all {
		queued, early, passes, writes = queued+r.late.queued, early+r.early.queued, passes+r.passes, writes+r.writes
	}
	n := float64(len(all))
	fmt.Printf("\nIn the mean %.0f machines were queued when the one was made at readiness, %.0f when the one was made 1 s after the start; a restart took %.0f passes and %.1f writes of VMs, the two new ones included. Their first calls are %s and %s.\n",
		float64(queued)/n, float64(early)/n, passes/n, writes/n, all[0].late.method, all[0].early.method)
}
