// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// What a package takes besides its source, and a program to be linked, as if that were so
// much source: measured with the programs of this repository, to about a fifth.
const (
	perPackage = 20_000
	perProgram = 3_000_000
	// soonest is before which nothing is foretold.
	soonest = 10 * time.Second
	// linkShare bounds what all links weigh, as a part of what is compiled: a build of few packages,
	// whose dependencies are in the cache, also reads these, which counts for nothing, so that
	// source seems to take longer than links do.
	linkShare = 4
)

// estimate is how far a build is, by the size of the source that has to be compiled.
type estimate struct {
	weights      map[string]int64
	total, begun int64
	packages, n  int
	links        int64
}

// newEstimate reads lines of import path, name, why it is stale, directory, and files, of
// which each has a size.
func newEstimate(list string, size func(file string) int64) *estimate {
	e := &estimate{weights: map[string]int64{}}
	for l := range strings.Lines(list) {
		f := strings.Split(strings.TrimSpace(l), "|")
		if len(f) < 4 {
			continue
		}
		if f[1] == "main" {
			e.links += perProgram
		}
		if strings.Contains(f[2], "available in build cache") {
			continue
		}
		w := int64(perPackage)
		for _, file := range f[4:] {
			w += size(filepath.Join(f[3], file))
		}
		e.weights[f[0]] = w
		e.total += w
		e.packages++
	}
	return e
}

// begin counts a package, and is false for a line that names none that is awaited.
func (e *estimate) begin(path string) bool {
	w, ok := e.weights[path]
	if ok {
		delete(e.weights, path)
		e.begun += w
		e.n++
	}
	return ok
}

// left is how long the rest takes if it goes on as it went, false before that can be told.
func (e *estimate) left(elapsed time.Duration) (time.Duration, bool) {
	if elapsed < soonest || e.begun == 0 {
		return 0, false
	}
	rest := e.total + min(e.links, e.total/linkShare) - e.begun
	return time.Duration(float64(elapsed) * float64(rest) / float64(e.begun)), true
}

// String is the line.
func (e *estimate) String(elapsed time.Duration) string {
	text := fmt.Sprintf("building: %d of %d packages", e.n, e.packages)
	if e.n == e.packages {
		text = fmt.Sprintf("building: all of %d packages, linking", e.packages)
	}
	left, ok := e.left(elapsed)
	switch {
	case !ok:
	case left >= 90*time.Second:
		text += fmt.Sprintf(", about %.0f minutes left", left.Minutes())
	case e.n < e.packages:
		text += fmt.Sprintf(", about %.0f seconds left", left.Seconds())
	}
	return text
}
