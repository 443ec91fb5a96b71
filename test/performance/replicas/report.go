// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// resident is memory in bytes.
type resident struct{ anonymous, file float64 }

// report is what was measured, by verb and name of the deployment.
type report struct {
	verbs    []string
	latency  map[string]map[string][]time.Duration
	spending map[string]map[string][]time.Duration
	// idle is processor time in ms for each second, and memory that of each replica.
	idle   map[string]float64
	memory map[string][]resident
}

func newReport() *report {
	return &report{
		latency: map[string]map[string][]time.Duration{}, spending: map[string]map[string][]time.Duration{},
		idle: map[string]float64{}, memory: map[string][]resident{},
	}
}

// took adds how long a request took.
func (r *report) took(verb, name string, d time.Duration) { r.add(r.latency, verb, name, d) }

// cost adds the processor time for a request in a round.
func (r *report) cost(verb, name string, d time.Duration) { r.add(r.spending, verb, name, d) }

func (r *report) add(to map[string]map[string][]time.Duration, verb, name string, d time.Duration) {
	if !slices.Contains(r.verbs, verb) {
		r.verbs = append(r.verbs, verb)
	}
	if to[verb] == nil {
		to[verb] = map[string][]time.Duration{}
	}
	to[verb][name] = append(to[verb][name], d)
}

// print writes a table.
func (r *report) print(out io.Writer, all []*deployment) {
	line := func(first string, cell func(*deployment) string) {
		fmt.Fprintf(out, "| %s |", first)
		for _, d := range all {
			fmt.Fprintf(out, " %s |", cell(d))
		}
		fmt.Fprintln(out)
	}
	line("replicas", func(d *deployment) string { return d.name })
	line("---", func(*deployment) string { return "---:" })
	for _, verb := range r.verbs {
		line(verb+", ms: median (99th percentile)", func(d *deployment) string {
			took := slices.Sorted(slices.Values(r.latency[verb][d.name]))
			return fmt.Sprintf("%.2f (%.2f)", ms(at(took, 0.5)), ms(at(took, 0.99)))
		})
	}
	for _, verb := range r.verbs {
		line(verb+", ms of processor time: median (least to most)", func(d *deployment) string {
			spent := slices.Sorted(slices.Values(r.spending[verb][d.name]))
			return fmt.Sprintf("%.2f (%.2f–%.2f)", ms(at(spent, 0.5)), ms(spent[0]), ms(spent[len(spent)-1]))
		})
	}
	line("idle, ms of processor time in a second", func(d *deployment) string { return fmt.Sprintf("%.1f", r.idle[d.name]) })
	line("memory of each, MB: its own + files", func(d *deployment) string {
		var each []string
		for _, m := range r.memory[d.name] {
			each = append(each, fmt.Sprintf("%.0f + %.0f", m.anonymous/1e6, m.file/1e6))
		}
		return strings.Join(each, ", ")
	})
}

// at is the value below which a part of the sorted ones is.
func at(sorted []time.Duration, part float64) time.Duration {
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
