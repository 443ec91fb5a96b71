// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/prometheus"
)

func TestValuesHaveTheUnitsOfGrafana(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0, "short", "0"}, {7, "short", "7"}, {1234, "short", "1.23 K"}, {0.04567, "short", "0.0457"}, {-2, "short", "-2"},
		{0, "s", "0 s"}, {0.0000021, "s", "2.1 µs"}, {0.0125, "s", "12.5 ms"}, {1, "s", "1 s"}, {90, "s", "1.5 mins"}, {7200, "s", "2 hours"},
		{0, "bytes", "0 B"}, {1536, "bytes", "1.5 KiB"}, {3 << 30, "bytes", "3 GiB"},
		{2.5e9, "hertz", "2.5 GHz"}, {0.25, "percentunit", "25%"}, {0.1667, "ops", "0.167 ops/s"}, {1500, "reqps", "1.5K req/s"}, {2, "eps", "2 evt/s"},
	} {
		if got, err := Format(tc.value, tc.unit); err != nil || got != tc.want {
			t.Errorf("%v in %s is %q, %v; want %q", tc.value, tc.unit, got, err, tc.want)
		}
	}
	if _, err := Format(1, "furlong"); err == nil {
		t.Error("a unit that is not known is drawn")
	}
}

func TestVariablesOfQueriesHaveAllValues(t *testing.T) {
	t.Parallel()
	d := &Dashboard{}
	d.Templating.List = []Variable{{Name: "name", AllValue: "n+"}, {Name: "namespace", AllValue: ".+"}}
	if got, want := d.Fill(`rate(up{namespace=~"$namespace", name=~"$name"}[$__rate_interval])`, 8*time.Second), `rate(up{namespace=~".+", name=~"n+"}[8s])`; got != want {
		t.Errorf("the query is %s, want %s", got, want)
	}
}

// graphOf is a panel of lines that are named by a label.
func graphOf(unit string) *Panel {
	p := &Panel{Type: kindGraph, Targets: []Target{{LegendFormat: "{{zone}}"}}}
	p.GridPos.W, p.GridPos.H = 12, 10
	p.FieldConfig.Defaults.Unit = unit
	p.Options.Legend.Calcs, p.Options.Legend.SortBy, p.Options.Legend.SortDesc = []string{"lastNotNull", "max"}, "Max", true
	return p
}

// from is a series of a zone with a sample each second, from the second 0 on.
func from(zone string, values ...float64) prometheus.Series {
	s := prometheus.Series{Labels: map[string]string{"zone": zone}}
	for i, v := range values {
		s.Samples = append(s.Samples, prometheus.Sample{At: float64(i), Value: v})
	}
	return s
}

var fourSeconds = Span{From: time.Unix(0, 0), To: time.Unix(4, 0), Step: time.Second}

func TestLinesHaveGapsWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	p := graphOf("short")
	lines := p.Lines([][]prometheus.Series{{from("a", 0, 2, math.NaN(), 4, math.NaN())}})
	for points, alone := range map[string]int{"auto": 1, "never": 0} {
		p.FieldConfig.Defaults.Custom.ShowPoints = points
		c, err := newChart(p, lines, fourSeconds, 78+400, 30+100)
		if err != nil {
			t.Fatal(err)
		}
		// 100 pixels each second, and 25 each unit, from the margins on.
		if got, want := c.Paths[0].Stroke, "M68,108L168,58"; got != want {
			t.Errorf("the line is %s, want %s", got, want)
		}
		if len(c.Paths[0].Points) != alone {
			t.Errorf("points are %s, and %d are drawn alone, want %d", points, len(c.Paths[0].Points), alone)
		}
	}
}

func TestTheAxisOfValuesEndsWhereNothingIsAbove(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		top  float64
		unit string
		want []string
	}{
		{0, "short", []string{"0", "1"}},
		{3, "short", []string{"0", "1", "2", "3"}},
		{0.31, "s", []string{"0 s", "100 ms", "200 ms", "300 ms", "400 ms"}},
		{390 << 20, "bytes", []string{"0 B", "128 MiB", "256 MiB", "384 MiB", "512 MiB"}},
	} {
		c := &Chart{unit: tc.unit, last: 1}
		if err := c.values(tc.top); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range c.Values {
			got = append(got, v.Text)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("the axis to %v (-want +got):\n%s", tc.top, diff)
		}
	}
}

func TestLegendsAreSortedAndNamed(t *testing.T) {
	t.Parallel()
	p := graphOf("short")
	p.FieldConfig.Overrides = []Override{{
		Matcher:    struct{ ID, Options string }{"byName", "b"},
		Properties: []struct{ ID, Value string }{{"displayName", "best"}},
	}}
	headings, rows, err := p.legend(p.Lines([][]prometheus.Series{{from("a", 1, 3), from("b", 5, 2), from("c", math.NaN())}}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Last *", "Max"}, headings); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(append([]string{r.Name}, r.Values...), " "))
	}
	if diff := cmp.Diff([]string{"best 2 5", "a 3 3", "c  "}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestLinesWithoutANameAndWhatIsNotKnownAreErrors(t *testing.T) {
	t.Parallel()
	twoNumbers, map3D := &Panel{Type: kindStat, Targets: make([]Target, 1)}, &Panel{Type: "map3d"}
	for name, s := range map[string]Shown{
		"no name":       {Panel: graphOf("short"), Answers: [][]prometheus.Series{{from("a", 1), from("", 1)}}},
		"unknown unit":  {Panel: graphOf("furlong"), Answers: [][]prometheus.Series{{from("a", 1)}}},
		"two numbers":   {Panel: twoNumbers, Answers: [][]prometheus.Series{{from("a", 1), from("b", 1)}}},
		"unknown panel": {Panel: map3D},
	} {
		if _, _, err := Page(&Dashboard{}, []Shown{s}, fourSeconds); err == nil {
			t.Errorf("%s: it is drawn", name)
		}
	}
}

func TestThePageOfEachDashboardShowsItsPanels(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(dashboards + "*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	for _, file := range files {
		d, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		var shown []Shown
		for i := range d.Panels {
			s := Shown{Panel: &d.Panels[i]}
			for _, q := range s.Panel.Targets {
				answer := from("a", 1, 2)
				for _, found := range label.FindAllStringSubmatch(q.LegendFormat, -1) {
					answer.Labels[found[1]] = "b"
				}
				s.Answers = append(s.Answers, []prometheus.Series{answer})
			}
			shown = append(shown, s)
		}
		text, _, err := Page(d, shown, fourSeconds)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, words := range append([]string{"This is not Grafana", d.Title}, titles(d)...) {
			if !strings.Contains(string(text), words) {
				t.Errorf("%s: the page does not say %q", file, words)
			}
		}
		if strings.Contains(string(text), "No data") {
			t.Errorf("%s: a panel is empty", file)
		}
	}
}

func titles(d *Dashboard) []string {
	var all []string
	for _, p := range d.Panels {
		all = append(all, p.Title)
	}
	return all
}
