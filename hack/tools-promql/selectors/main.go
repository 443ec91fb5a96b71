// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command selectors reads Prometheus queries, a JSON array of strings, from standard input. For each query it writes
// the metrics with the labels that it matches, and the labels by which it groups or joins. For an invalid query it
// writes the error.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// metricName is the label with the name of a metric.
const metricName = "__name__"

// asked contains the metrics and labels of a query.
type asked struct {
	Query    string              `json:"query"`
	Error    string              `json:"error,omitempty"`
	Metrics  map[string][]string `json:"metrics"`
	Grouping []string            `json:"grouping"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var queries []string
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		return fmt.Errorf("reading queries: %w", err)
	}
	all := make([]asked, 0, len(queries))
	for _, query := range queries {
		all = append(all, read(query))
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func read(query string) asked {
	a := asked{Query: query, Metrics: map[string][]string{}, Grouping: []string{}}
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			matched := a.Metrics[n.Name]
			for _, m := range n.LabelMatchers {
				if m.Name != metricName && !slices.Contains(matched, m.Name) {
					matched = append(matched, m.Name)
				}
			}
			a.Metrics[n.Name] = matched
		case *parser.AggregateExpr:
			a.Grouping = append(a.Grouping, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				a.Grouping = append(append(a.Grouping, n.VectorMatching.MatchingLabels...), n.VectorMatching.Include...)
			}
		}
		return nil
	})
	return a
}
