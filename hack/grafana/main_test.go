// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const written = "../../artifacts/monitoring/dashboards/"

func TestTheDashboardsAreWhatIsWrittenHere(t *testing.T) {
	all := dashboards()
	for name, d := range all {
		want, err := d.text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(written + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s.json: make generate writes it anew (-want +got):\n%s", name, diff)
		}
	}
	files, err := filepath.Glob(written + "*")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d dashboards, and the files %v, %v", len(all), files, err)
	}
}

func TestPanelsFillTheirRowsAndHaveNamesOfTheirOwn(t *testing.T) {
	for name, d := range dashboards() {
		seen := map[string]bool{}
		for _, r := range d.rows {
			if columns%len(r.panels) != 0 {
				t.Errorf("%s: %d panels of %q leave a gap in %d columns", name, len(r.panels), r.title, columns)
			}
			for _, p := range r.panels {
				if p.look != r.panels[0].look {
					t.Errorf("%s: panels of %q are not of one height", name, r.title)
				}
				if seen[p.title] && p.look == graph {
					t.Errorf("%s: two panels are named %q", name, p.title)
				}
				seen[p.title] = true
			}
		}
	}
}
