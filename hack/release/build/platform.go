// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"
)

// Platform is what a program runs on, in Go's words.
type Platform struct{ OS, Arch string }

// String is linux/amd64, as flags have it.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Name is linux_amd64, as names of files have it.
func (p Platform) Name() string { return p.OS + "_" + p.Arch }

// Executable is the name that a program has there.
func (p Platform) Executable(program string) string {
	if p.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// All are the platforms that are released: virtctl for all of them, the server for Linux.
var All = []Platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// Parse reads a list such as linux/amd64,linux/arm64. Nothing means all.
func Parse(list string) ([]Platform, error) {
	if list == "" {
		return All, nil
	}
	var chosen []Platform
	for word := range strings.SplitSeq(list, ",") {
		os, arch, _ := strings.Cut(word, "/")
		p := Platform{os, arch}
		if !slices.Contains(All, p) {
			return nil, fmt.Errorf("platform %q: want some of %v, separated by commas", word, All)
		}
		if slices.Contains(chosen, p) {
			return nil, fmt.Errorf("platform %q is given twice", word)
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}
