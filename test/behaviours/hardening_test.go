// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hardening lists the measures against attacks, invalid input and faults, with their tests.
const hardening = "docs/contributing/hardening.md"

var (
	row      = regexp.MustCompile(`(?m)^\| ([SF]\d+) \| (.+) \| (.+) \|$`)
	listed   = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	declared = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
)

func TestHardening_EveryPointHasTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, hardening))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	var points []string
	for _, point := range row.FindAllStringSubmatch(string(page), -1) {
		names := listed.FindAllStringSubmatch(point[3], -1)
		if len(names) == 0 {
			t.Errorf("%s names no test for %s", hardening, point[1])
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("%s names the test %s, which does not exist", hardening, name[1])
			}
		}
		points = append(points, point[1])
	}
	if diff := cmp.Diff(numbers(), points); diff != "" {
		t.Errorf("points of %s (-want +got):\n%s", hardening, diff)
	}
}

// troubleshooting lists symptoms, with a test that produces each.
const troubleshooting = "docs/reference/troubleshooting.md"

func TestTroubleshooting_EverySymptomHasATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, troubleshooting))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	symptoms := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| symptom |") {
			continue
		}
		symptoms++
		cells := strings.Split(strings.TrimSpace(line), " | ")
		name := listed.FindStringSubmatch(cells[len(cells)-1])
		if len(cells) != 4 || name == nil || !tests[name[1]] {
			t.Errorf("%s: want a symptom, a cause, an action and an existing test: %s", troubleshooting, line)
		}
	}
	if symptoms < 25 {
		t.Errorf("%s has only %d symptoms", troubleshooting, symptoms)
	}
}

// numbers returns the numbers of the points: S1 to S15 and F1 to F9.
func numbers() (all []string) {
	for n := range 15 {
		all = append(all, fmt.Sprintf("S%d", n+1))
	}
	for n := range 9 {
		all = append(all, fmt.Sprintf("F%d", n+1))
	}
	return all
}

// declaredTests returns the names of all test functions of other packages.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	eachTestFile(t, func(_ string, source []byte) {
		for _, name := range declared.FindAllSubmatch(source, -1) {
			found[string(name[1])] = true
		}
	})
	return found
}
