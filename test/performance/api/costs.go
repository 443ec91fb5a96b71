// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
)

// costs are milliseconds of processor time for one request, by verb and way.
type costs struct {
	verbs []string
	of    map[string]map[string][]float64
}

func newCosts() *costs { return &costs{of: map[string]map[string][]float64{}} }

// add adds the result of a round.
func (c *costs) add(verb, way string, cost float64) {
	if c.of[verb] == nil {
		c.verbs = append(c.verbs, verb)
		c.of[verb] = map[string][]float64{}
	}
	c.of[verb][way] = append(c.of[verb][way], cost)
}

// print writes a table: the median with minimum and maximum, and its ratio to the first way.
func (c *costs) print(out io.Writer, ways []way) {
	line := func(first string, cell func(way) string) {
		fmt.Fprintf(out, "| %s |", first)
		for _, w := range ways {
			fmt.Fprintf(out, " %s |", cell(w))
		}
		fmt.Fprintln(out)
	}
	line("ms for one request", func(w way) string { return w.name })
	line("---", func(way) string { return "---:" })
	for _, verb := range c.verbs {
		base := median(c.of[verb][ways[0].name])
		line(verb, func(w way) string {
			all := c.of[verb][w.name]
			text := fmt.Sprintf("%.2f (%.2f–%.2f)", median(all), slices.Min(all), slices.Max(all))
			if w.name != ways[0].name {
				text += fmt.Sprintf(" 1/%.2f", base/median(all))
			}
			return text
		})
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
