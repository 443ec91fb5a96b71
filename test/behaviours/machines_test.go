// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import "testing"

func TestEveryRowAboutMachinesIsNamedByATest(t *testing.T) {
	for list, rows := range map[string][]machineRow{
		"MT": machineTransitions, "MB": machineBehaviours, "MC": machineConditions, "MD": machineDefects,
	} {
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
