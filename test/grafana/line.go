// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/slipway-dev/slipway/test/prometheus"
)

// palette is the one that Grafana calls classic.
var palette = []string{"#7EB26D", "#EAB839", "#6ED0E0", "#EF843C", "#E24D42", "#1F78C1", "#BA43A9", "#705DA0", "#508642", "#CCA300", "#447EBC", "#C15C17"}

// Line is one of a graph, or a number.
type Line struct {
	Name    string
	Color   string
	Samples []prometheus.Sample
}

// Lines are the answers to the queries of a panel, in the order of its targets, as they are drawn:
// what is not a number is a gap.
func (p *Panel) Lines(answers [][]prometheus.Series) []Line {
	var all []Line
	for i, series := range answers {
		for _, s := range series {
			l := Line{Name: p.name(p.Targets[i], s.Labels), Color: palette[len(all)%len(palette)]}
			for _, sample := range s.Samples {
				if !math.IsNaN(sample.Value) && !math.IsInf(sample.Value, 0) {
					l.Samples = append(l.Samples, sample)
				}
			}
			all = append(all, l)
		}
	}
	return all
}

// calcs are what a legend tells of a line, by Grafana's names; they are asked of lines with samples.
var calcs = map[string]struct {
	heading string
	of      func(Line) float64
}{
	"lastNotNull": {"Last *", func(l Line) float64 { return l.Samples[len(l.Samples)-1].Value }},
	"max":         {"Max", func(l Line) float64 { return l.largest() }},
}

func (l Line) largest() float64 {
	return slices.MaxFunc(l.Samples, func(a, b prometheus.Sample) int { return cmp.Compare(a.Value, b.Value) }).Value
}

// entry is a row of a legend.
type entry struct {
	Color, Name string
	Values      []string
	sort        float64
}

// legend are the rows of lines, and the headings of their values.
func (p *Panel) legend(lines []Line) (headings []string, rows []entry, err error) {
	o := p.Options.Legend
	for _, name := range o.Calcs {
		c, ok := calcs[name]
		if !ok {
			return nil, nil, fmt.Errorf("the calculation %q is not one that is drawn", name)
		}
		headings = append(headings, c.heading)
	}
	for _, l := range lines {
		row := entry{Color: l.Color, Name: l.Name, sort: math.Inf(-1)}
		for i, name := range o.Calcs {
			if len(l.Samples) == 0 {
				row.Values = append(row.Values, "")
				continue
			}
			value := calcs[name].of(l)
			text, err := Format(value, p.FieldConfig.Defaults.Unit)
			if err != nil {
				return nil, nil, err
			}
			row.Values = append(row.Values, text)
			if headings[i] == o.SortBy {
				row.sort = value
			}
		}
		rows = append(rows, row)
	}
	if o.SortBy != "" {
		slices.SortStableFunc(rows, func(a, b entry) int {
			if o.SortDesc {
				a, b = b, a
			}
			return cmp.Compare(a.sort, b.sort)
		})
	}
	return headings, rows, nil
}
