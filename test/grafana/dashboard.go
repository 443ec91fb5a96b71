// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kinds of panels.
const (
	kindRow   = "row"
	kindStat  = "stat"
	kindGraph = "timeseries"
)

// Dashboard is what of one's JSON a drawing depends on.
type Dashboard struct {
	Title, UID string
	Templating struct{ List []Variable }
	Panels     []Panel
}

// Variable is one whose values somebody can choose.
type Variable struct{ Name, Label, Type, AllValue string }

// Panel is a row's title, a number or lines.
type Panel struct {
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []Target
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []Step }
			Custom     struct {
				ShowPoints  string
				FillOpacity float64
			}
		}
		Overrides []Override
	}
	Options struct {
		Legend struct {
			Calcs    []string
			SortBy   string
			SortDesc bool
		}
	}
}

// Override is what is different for lines of a name: here what they are called.
type Override struct {
	Matcher    struct{ ID, Options string }
	Properties []struct{ ID, Value string }
}

// Target is a query, and what its lines are named.
type Target struct{ Expr, LegendFormat string }

// Step is a color from a value on; the first has none.
type Step struct {
	Color string
	Value *float64
}

// Read reads the JSON of a dashboard.
func Read(file string) (*Dashboard, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a dashboard: %w", err)
	}
	d := &Dashboard{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("reading the dashboard %s: %w", file, err)
	}
	return d, nil
}

// Fill is a query with all values of the variables, and rates over a time.
func (d *Dashboard) Fill(expr string, rates time.Duration) string {
	values := []string{"$__rate_interval", fmt.Sprintf("%ds", int(rates.Seconds()))}
	// $namespace begins with $name.
	longestFirst := slices.SortedFunc(slices.Values(d.Templating.List), func(a, b Variable) int { return cmp.Compare(len(b.Name), len(a.Name)) })
	for _, v := range longestFirst {
		values = append(values, "$"+v.Name, v.AllValue)
	}
	return strings.NewReplacer(values...).Replace(expr)
}

var label = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// name is that of a line with labels, which a target has the answer to.
func (p *Panel) name(t Target, labels map[string]string) string {
	name := label.ReplaceAllStringFunc(t.LegendFormat, func(found string) string { return labels[label.FindStringSubmatch(found)[1]] })
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if o.Matcher.ID == "byName" && o.Matcher.Options == name && property.ID == "displayName" {
				return property.Value
			}
		}
	}
	return strings.TrimSpace(name)
}
