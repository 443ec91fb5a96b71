// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
)

var (
	long       = flag.Bool("long", false, "run the whole matrix instead of a minute's worth")
	faultsFlag = flag.String("faults", "", "names of the faults, separated by commas; empty takes all")
)

func TestMatrix(t *testing.T) {
	chosen, when := []string{"kill"}, []moment{asked}
	if *long {
		chosen, when = nil, moments
		for _, f := range faults {
			chosen = append(chosen, f.name)
		}
	}
	if *faultsFlag != "" {
		chosen, when = strings.Split(*faultsFlag, ","), moments
	}
	for _, name := range chosen {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == name }) {
			t.Fatalf("-faults: %q given, none of the faults", name)
		}
	}
	rows := make([]string, len(faults))
	t.Cleanup(func() { t.Logf("results:\n%s", table(rows)) })
	for i, f := range faults {
		if slices.Contains(chosen, f.name) {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel() // each has its own environment, and mostly waits
				rows[i] = matrixRows(t, f, when)
			})
		}
	}
}

// matrixRows runs the cells of a fault, and returns their rows of the table.
func matrixRows(t *testing.T, f fault, when []moment) (rows string) {
	t.Helper()
	dir := newDirectory(t)
	if f.place != nil {
		if err := f.place(t, localcluster.SlipwayDataDir(dir)); err != nil {
			t.Logf("NOT RUN: %v", err)
			for _, at := range when {
				rows += fmt.Sprintf("| %s | %s |%s\n", f.name, at.name, strings.Repeat(" not run |", len(states)))
			}
			return rows
		}
	}
	e := newEnvironment(t, dir)
	for _, at := range when {
		rows += fmt.Sprintf("| %s | %s |", f.name, at.name)
		for _, s := range states {
			c, result := newCell(e, f, at, s), ""
			t.Run(at.name+" "+s.name, func(t *testing.T) {
				result = "**fails**" // unless it gets to its end
				result = c.result(t, c.run(t.Context(), t))
			})
			rows += " " + result + " |"
		}
		rows += "\n"
	}
	return rows
}

// table returns the table as Markdown.
func table(rows []string) string {
	head := "| fault | moment |"
	for _, s := range states {
		head += " " + s.name + " |"
	}
	return head + "\n|---|---|" + strings.Repeat("---|", len(states)) + "\n" + strings.Join(rows, "")
}
