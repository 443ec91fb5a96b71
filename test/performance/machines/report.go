// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
)

// Budgets of the design.
const budgetWrites = 5

// cost is the cost of an operation.
type cost struct {
	time time.Duration
	// cpu is by part, requests by server.
	cpu      map[string]time.Duration
	requests map[string]map[pages.Request]float64
}

type sample struct {
	at time.Time
	cost
}

// Parts whose costs are read.
const (
	controllers = "controllers"
	hostServer  = "kube-apiserver of the host"
	workServer  = "kube-apiserver of the workload clusters"
	itself      = "etcd of both, provider and watches"
)

func (e *environment) sample(ctx context.Context) (sample, error) {
	s := sample{at: time.Now(), cost: cost{cpu: map[string]time.Duration{}, requests: map[string]map[pages.Request]float64{}}}
	pids := map[string]int{hostServer: e.host.PID("kube-apiserver"), workServer: e.workload.PID(), itself: os.Getpid()}
	sources := map[string]pages.Source{hostServer: e.hostPages, workServer: e.workloadPages}
	if e.settings.manager == slipway {
		pids[controllers] = e.host.PID("slipway-apiserver")
		sources[controllers] = e.slipwayPages
	} else {
		pids[controllers] = e.manager.PID()
	}
	for part, pid := range pids {
		spent, err := proc.CPUTime(pid)
		if err != nil {
			return s, fmt.Errorf("reading the CPU time of %s: %w", part, err)
		}
		s.cpu[part] = spent
	}
	for part, source := range sources {
		families, err := source.Metrics(ctx)
		if err != nil {
			return s, err
		}
		s.requests[part] = pages.Requests(families)
	}
	return s, nil
}

func (s sample) since(from sample) cost {
	d := cost{time: s.at.Sub(from.at), cpu: map[string]time.Duration{}, requests: map[string]map[pages.Request]float64{}}
	for part, spent := range s.cpu {
		d.cpu[part] = spent - from.cpu[part]
	}
	for part, requests := range s.requests {
		d.requests[part] = pages.Minus(requests, from.requests[part])
	}
	return d
}

// window is the cost of a period.
func (e *environment) window(ctx context.Context, length time.Duration) (cost, error) {
	before, err := e.sample(ctx)
	if err != nil {
		return cost{}, err
	}
	if err := pause(ctx, length); err != nil {
		return cost{}, err
	}
	after, err := e.sample(ctx)
	return after.since(before), err
}

func row(cells ...any) {
	var texts []string
	for _, c := range cells {
		texts = append(texts, fmt.Sprint(c))
	}
	fmt.Printf("| %s |\n", strings.Join(texts, " | "))
}

func (e *environment) print(made, quiet, steady cost, written int, asked map[asking]int) {
	n := float64(e.settings.machines)
	fmt.Printf("\n| %d Machines in %d Clusters, %s | |\n|---|---:|\n", e.settings.machines, e.settings.clusters, e.settings.manager)
	row("from the first create to the last healthy Node", fmt.Sprintf("%.1f s", made.time.Seconds()))
	total := time.Duration(0)
	for _, part := range []string{controllers, hostServer, workServer, itself} {
		total += made.cpu[part]
		row("CPU of one Machine: "+part, fmt.Sprintf("%.1f ms", made.cpu[part].Seconds()*1000/n))
	}
	row("CPU of one Machine: all", fmt.Sprintf("%.1f ms", total.Seconds()*1000/n))
	e.machines.mu.Lock()
	node, ready := slices.Sorted(maps.Values(e.machines.toNode)), slices.Sorted(maps.Values(e.machines.toReady))
	e.machines.mu.Unlock()
	row("writes of a Machine until status.nodeRef: mean, most", fmt.Sprintf("%.2f, %d (budget %d)", mean(node), node[len(node)-1], budgetWrites))
	row("writes of a Machine until NodeHealthy: mean, most", fmt.Sprintf("%.2f, %d", mean(ready), ready[len(ready)-1]))
	for _, line := range perMachine(made, n) {
		row(line...)
	}
	minutes := steady.time.Minutes()
	row("steady: writes of Machines a minute", fmt.Sprintf("%.1f", float64(written)/minutes))
	row("steady: CPU of the controllers", fmt.Sprintf("%.2f %% of a core (%.2f %% without Machines)", percent(steady), percent(quiet)))
	ours, others := beyondProbes(asked)
	row("steady: requests of the controllers to workload clusters a minute, beyond watches and probes", rate(ours, minutes))
	row("steady: requests of others to them a minute", rate(others, minutes))
}

func percent(c cost) float64 { return 100 * c.cpu[controllers].Seconds() / c.time.Seconds() }

func mean(all []int) float64 {
	sum := 0
	for _, n := range all {
		sum += n
	}
	return float64(sum) / float64(len(all))
}

// perMachine lists requests that grow with the number of Machines.
func perMachine(c cost, n float64) [][]any {
	var lines [][]any
	for _, server := range []string{controllers, hostServer, workServer} {
		counts := c.requests[server]
		for _, r := range slices.SortedFunc(maps.Keys(counts), func(a, b pages.Request) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
			if counts[r]/n >= 0.01 {
				lines = append(lines, []any{fmt.Sprintf("requests of one Machine at %s: %s %s, %s", server, r.Verb, r.Resource, r.Code), fmt.Sprintf("%.2f", counts[r]/n)})
			}
		}
	}
	return lines
}
