// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
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

// print writes the table of targets.
func (r results) print(w io.Writer, rounds int) {
	fmt.Fprintf(w, "Medians of %d interleaved rounds.\n\n", rounds)
	fmt.Fprintf(w, "| workload | figure | %s | ratio or bound | target | |\n", strings.Join(implementations, " | "))
	fmt.Fprintf(w, "|---|---|%s---:|---:|---|\n", strings.Repeat("---:|", len(implementations)))
	for _, c := range cases {
		if r[c.name] == nil {
			continue
		}
		for _, t := range c.targets {
			r.row(w, c, t)
		}
	}
}

func (r results) row(w io.Writer, c testCase, t target) {
	cells := []string{c.name, t.figure}
	for _, i := range implementations {
		cell := "–"
		if v, ok := r.median(c.name, i, t.figure); ok {
			cell = number(v)
		}
		cells = append(cells, cell)
	}
	got, _ := r.median(c.name, plain, t.figure)
	verdict := "missed"
	if t.want == noTarget {
		cells = append(cells, "", "", "")
	} else if t.peer == "" {
		if got <= t.want {
			verdict = "met"
		}
		cells = append(cells, number(got), "≤ "+number(t.want), verdict)
	} else {
		peer, _ := r.median(c.name, t.peer, t.figure)
		ratio := peer / got
		if ratio >= t.want {
			verdict = "met"
		}
		cells = append(cells, "× "+number(ratio)+" "+t.peer, "≥ "+number(t.want), verdict)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

// number formats with three significant digits, large ones without decimals.
func number(v float64) string {
	if v >= 100 || v == float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// appendRaw writes one measurement as a line that benchstat reads.
func appendRaw(file, workload, implementation string, f figures) error {
	if file == "" {
		return nil
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening -raw: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "BenchmarkQueue/workload=%s/queue=%s 1", workload, implementation)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, " %g %s", f[name], name)
	}
	if _, err := fmt.Fprintln(out, b.String()); err != nil {
		return fmt.Errorf("writing -raw: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("closing -raw: %w", err)
	}
	return nil
}
