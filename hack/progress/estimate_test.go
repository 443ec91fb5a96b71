// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

// list is what go list says of four packages, of which one is in the cache, and of a
// program.
const list = `example.org/large|large|build ID mismatch|/src/large|a.go|b.go
example.org/small|small|stale dependency: example.org/large|/src/small|c.go
example.org/cached|cached|not installed but available in build cache|/src/cached|d.go
example.org/cmd|main|stale dependency: example.org/large|/src/cmd|main.go
`

func estimated(t *testing.T) *estimate {
	t.Helper()
	return newEstimate(list, func(file string) int64 {
		return map[string]int64{"/src/large/a.go": 5_000_000, "/src/large/b.go": 940_000, "/src/small/c.go": 0, "/src/cached/d.go": 1 << 40, "/src/cmd/main.go": 0}[file]
	})
}

func TestTheTimeLeftFollowsFromTheSizeOfTheSource(t *testing.T) {
	e := estimated(t)
	for _, step := range []struct {
		begins  string
		elapsed time.Duration
		want    string
	}{
		{"", time.Minute, "building: 0 of 3 packages"},
		{"example.org/large", time.Second, "building: 1 of 3 packages"},
		{"", 5 * time.Minute, "building: 1 of 3 packages, about 78 seconds left"}, // 5,960,000 in 5 minutes; left are 40,000 and, for the link, a quarter of all
		{"example.org/small", 90 * time.Second, "building: 2 of 3 packages, about 23 seconds left"},
		{"example.org/cmd", 10 * time.Minute, "building: all of 3 packages, linking, about 2 minutes left"},
		{"", 2 * time.Minute, "building: all of 3 packages, linking"},
	} {
		if step.begins != "" && !e.begin(step.begins) {
			t.Errorf("%s is not among what is to be built", step.begins)
		}
		if got := e.String(step.elapsed); got != step.want {
			t.Errorf("after %s: %q, want %q", step.elapsed, got, step.want)
		}
	}
}

func TestLinksDoNotOutweighAFewPackages(t *testing.T) {
	// Of a build whose dependencies are in the cache already, 2 of 3 packages are begun after 4 minutes.
	e := newEstimate(`example.org/a|a|build ID mismatch|/a|a.go
example.org/b|b|build ID mismatch|/b|b.go
example.org/cmd/c|main|build ID mismatch|/c|c.go
example.org/cmd/d|main|not installed but available in build cache|/d|d.go
`, func(string) int64 { return 80_000 })
	e.begin("example.org/a")
	e.begin("example.org/b")
	if left, ok := e.left(4 * time.Minute); !ok || left > 4*time.Minute {
		t.Errorf("%s left", left)
	}
}

func TestWhatIsNoPackageIsPassedOn(t *testing.T) {
	e := estimated(t)
	if e.begin("# example.org/large") || e.begin("example.org/cached") {
		t.Error("an error or a package in the cache counts as one that was begun")
	}
	if !e.begin("example.org/large") || e.begin("example.org/large") {
		t.Error("a package does not count once")
	}
}
