// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// results holds every measurement: workload, implementation, figure.
type results map[string]map[string]map[string][]float64

func (r results) record(workload, implementation string, f figures) {
	if r[workload] == nil {
		r[workload] = map[string]map[string][]float64{}
	}
	if r[workload][implementation] == nil {
		r[workload][implementation] = map[string][]float64{}
	}
	for name, v := range f {
		r[workload][implementation][name] = append(r[workload][implementation][name], v)
	}
}

// median returns the median of a figure, and false if it was not measured.
func (r results) median(workload, implementation, figure string) (float64, bool) {
	v := slices.Clone(r[workload][implementation][figure])
	if len(v) == 0 {
		return 0, false
	}
	slices.Sort(v)
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2, true
}

// print writes the table of the compared workloads, the two ratios, and the table of the
// other figures.
func (r results) print(w io.Writer, rounds int) {
	columns := strings.Join(implementations, " | ")
	fmt.Fprintf(w, "Processor time in ns per key, medians of %d interleaved rounds.\n\n", rounds)
	fmt.Fprintf(w, "| workload | %s | %s / %s | %s / %s |\n", columns, runtimePeer, slipway, slipway, clientPeer)
	fmt.Fprintf(w, "|---|%s---:|---:|\n", strings.Repeat("---:|", len(implementations)))
	least, most := 0.0, 0.0
	for _, c := range cases {
		if r[c.name] == nil || c.figures != nil {
			continue
		}
		ours, _ := r.median(c.name, slipway, perKey)
		runtime, _ := r.median(c.name, runtimePeer, perKey)
		client, _ := r.median(c.name, clientPeer, perKey)
		if least == 0 || runtime/ours < least {
			least = runtime / ours
		}
		most = max(most, ours/client)
		fmt.Fprintf(w, "| %s | %s | %.1f | %.2f |\n", c.name, r.cells(c.name, perKey), runtime/ours, ours/client)
	}
	fmt.Fprintf(w, "\nAt least %.1f times less than %s (target %d: %s), at most %.2f times %s (target %d: %s).\n",
		least, runtimePeer, fewerThanRuntime, verdict(least >= fewerThanRuntime),
		most, clientPeer, timesClientGo, verdict(most <= timesClientGo))
	fmt.Fprintf(w, "\n| workload | figure | %s |\n|---|---|%s\n", columns, strings.Repeat("---:|", len(implementations)))
	for _, c := range cases {
		if r[c.name] == nil {
			continue
		}
		for _, figure := range c.figures {
			fmt.Fprintf(w, "| %s | %s | %s |\n", c.name, figure, r.cells(c.name, figure))
		}
	}
}

// cells returns a figure of each implementation.
func (r results) cells(workload, figure string) string {
	var cells []string
	for _, i := range implementations {
		cell := "–"
		if v, ok := r.median(workload, i, figure); ok {
			cell = number(v)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " | ")
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// number formats with three significant digits, large ones without decimals.
func number(v float64) string {
	if v >= 100 || v == float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
