// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// grafanaDashboard contains the fields of a dashboard that manual edits can break.
type grafanaDashboard struct {
	Title, UID string
	Panels     []grafanaPanel
}

type grafanaPanel struct {
	ID          int
	Type, Title string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		Expr           string
		Range, Instant bool
	}
}

// gridColumns is the width of a dashboard in Grafana's grid units.
const gridColumns = 24

// TestDashboardsAndAlerts… in test/operations checks that each query parses and that the server has each metric and
// label.
func TestDashboards_AreValid(t *testing.T) {
	files, err := filepath.Glob("monitoring/dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("the dashboards are %v, %v, want 4", files, err)
	}
	uids := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d grafanaDashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if other, used := uids[d.UID]; used || d.UID == "" || d.Title == "" {
			t.Errorf("%s: uid %q (also of %q), title %q", file, d.UID, other, d.Title)
		}
		uids[d.UID] = file
		for _, problem := range panelProblems(d.Panels) {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

// panelProblems returns the errors in the panels of one dashboard.
func panelProblems(panels []grafanaPanel) (problems []string) {
	type cell struct{ x, y int }
	ids, cells := map[int]bool{}, map[cell]string{}
	for _, p := range panels {
		add := func(problem string) { problems = append(problems, "panel "+p.Title+": "+problem) }
		if ids[p.ID] {
			add("its id is not unique")
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.X < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > gridColumns {
			add("it does not fit into the grid")
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, used := cells[cell{x, y}]; used {
					add("it overlaps " + other)
				}
				cells[cell{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			add("it has no query, or not the data source that the user selects")
		}
		for _, q := range p.Targets {
			if q.Expr == "" || q.Range == q.Instant || q.Instant != (p.Type == "stat") {
				add("a query is empty, or is not instant for a number and a range for a graph: " + q.Expr)
			}
		}
	}
	return problems
}

func TestPanelProblems_DetectsErrors(t *testing.T) {
	const good = `{"id": 1, "type": "stat", "title": "a", "datasource": {"uid": "${datasource}"}, "gridPos": {"x": 0, "y": 0, "w": 12, "h": 4}, "targets": [{"expr": "up", "instant": true}]}`
	for name, test := range map[string]struct {
		panels string
		want   int
	}{
		"good":             {good, 0},
		"the same id":      {good + `, {"id": 1, "type": "row", "title": "b", "gridPos": {"x": 12, "w": 12, "h": 1}}`, 1},
		"an overlap":       {good + `, {"id": 2, "type": "row", "title": "b", "gridPos": {"x": 11, "w": 1, "h": 1}}`, 1},
		"outside the grid": {good + `, {"id": 2, "type": "row", "title": "b", "gridPos": {"x": 20, "w": 5, "h": 1}}`, 1},
		"no query":         {`{"id": 2, "type": "timeseries", "title": "b", "datasource": {"uid": "${datasource}"}, "gridPos": {"w": 1, "h": 1}}`, 1},
		"an instant graph": {`{"id": 2, "type": "timeseries", "title": "b", "datasource": {"uid": "${datasource}"}, "gridPos": {"w": 1, "h": 1}, "targets": [{"expr": "up", "instant": true}]}`, 1},
	} {
		var panels []grafanaPanel
		if err := json.Unmarshal([]byte("["+test.panels+"]"), &panels); err != nil {
			t.Fatal(err)
		}
		if got := panelProblems(panels); len(got) != test.want {
			t.Errorf("%s: problems %q, want %d", name, got, test.want)
		}
	}
}
