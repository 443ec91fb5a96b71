// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// machineLists are the lists about Machines, by the letters with which tests name their rows.
var machineLists = map[string][]machineRow{
	"MT": machineTransitions, "MB": machineBehaviours, "MC": machineConditions, "MD": machineDefects,
}

func TestMachineRows_AreReferencedByTests(t *testing.T) {
	for list, rows := range machineLists {
		found := tests(t, list)
		for i, r := range rows {
			if r.number != i+1 {
				t.Fatalf("entry %d of %s has number %d", i+1, list, r.number)
			}
			switch named := len(found[r.number]) > 0; {
			case !named && r.left == "":
				t.Errorf("no test names %s%d: %s", list, r.number, r.about)
			case named && r.left != "":
				t.Errorf("%s names %s%d, which is left out because %s", found[r.number][0], list, r.number, r.left)
			}
			delete(found, r.number)
		}
		for n, paths := range found {
			t.Errorf("%s%d is in no list; it is named by %s", list, n, paths[0])
		}
	}
}

func TestDifferingMachineRows_AreReferencedByTestsAndDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/machines.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, differences, _ := strings.Cut(string(page), "## What differs from Cluster API")
	for list, rows := range machineLists {
		named := tests(t, list)
		for _, r := range rows {
			o, is := machineOtherwise[fmt.Sprintf("%s%d", list, r.number)]
			switch {
			case !is:
			case r.left != "" || len(named[r.number]) == 0:
				t.Errorf("%s%d is built otherwise, and no test names it", list, r.number)
			case !strings.Contains(differences, o.documented):
				t.Errorf("%s%d is built otherwise (%s), and docs/reference/machines.md does not have %q among the differences", list, r.number, o.reason, o.documented)
			}
		}
	}
	for row := range machineOtherwise {
		number, err := strconv.Atoi(strings.TrimLeft(row, "MTBCD"))
		if rows := machineLists[row[:2]]; err != nil || number < 1 || number > len(rows) {
			t.Errorf("%s is in no list", row)
		}
	}
}
