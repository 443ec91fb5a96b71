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
)

// hardening is the list of what holds against attack, bad input and faults. Its numbers
// are in the names of tests, as TestS4ListsAreBounded; those of the faults have nothing
// to do with the numbers of instance types, which are in texts and comments.
const hardening = "docs/hardening.md"

var (
	row        = regexp.MustCompile(`(?m)^\| ([SF]\d+) \| (.+) \| (.+) \|$`)
	listed     = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	declared   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	namedAfter = regexp.MustCompile(`^Test((?:[SF]\d+)+)[A-Z]`)
)

func TestEveryPointOfTheReviewsIsHeldByATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, hardening))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	for _, name := range listed.FindAllStringSubmatch(string(page), -1) {
		if !tests[name[1]] {
			t.Errorf("%s names the test %s, which does not exist", hardening, name[1])
		}
	}
	held := map[string]bool{}
	for _, point := range row.FindAllStringSubmatch(string(page), -1) {
		number := point[1]
		for _, name := range listed.FindAllStringSubmatch(point[3], -1) {
			if isNamedAfter(name[1], number) {
				held[number] = true
			}
		}
	}
	for _, want := range numbers() {
		if !held[want] {
			t.Errorf("%s names no test that is named after %s", hardening, want)
		}
		delete(held, want)
	}
	for number := range held {
		t.Errorf("%s has %s, which no review has", hardening, number)
	}
}

// numbers are those of the reviews.
func numbers() []string {
	var all []string
	for n := range 15 {
		all = append(all, fmt.Sprintf("S%d", n+1))
	}
	for n := range 9 {
		all = append(all, fmt.Sprintf("F%d", n+1))
	}
	return all
}

// isNamedAfter reports whether the name of a test contains number, as TestS4S6Odd contains S6.
func isNamedAfter(test, number string) bool {
	found := namedAfter.FindStringSubmatch(test)
	return found != nil && regexp.MustCompile(number+`\b|`+number+`[SF]`).MatchString(found[1])
}

func TestNumbersInNamesOfTestsAreWhole(t *testing.T) {
	for test, want := range map[string]string{"TestS1S2Odd": "S1 S2", "TestS15Full": "S15", "TestF2AReplica": "F2", "TestSpec": ""} {
		var got []string
		for _, number := range numbers() {
			if isNamedAfter(test, number) {
				got = append(got, number)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is named after %q, want %q", test, got, want)
		}
	}
}

// declaredTests are the names of all test functions of other packages.
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
