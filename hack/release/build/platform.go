// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"
)

// Platform is an operating system and architecture in the notation of Go.
type Platform struct{ OS, Arch string }

// String returns the platform as in flags, such as linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Name returns the platform as in file names, such as linux_amd64.
func (p Platform) Name() string { return p.OS + "_" + p.Arch }

// Executable returns the file name of a program on the platform.
func (p Platform) Executable(program string) string {
	if p.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// All are the released platforms: virtctl for all of them, the server for Linux.
var All = []Platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// Parse parses a list such as linux/amd64,linux/arm64. An empty list means all platforms.
func Parse(list string) ([]Platform, error) {
	if list == "" {
		return All, nil
	}
	var chosen []Platform
	for word := range strings.SplitSeq(list, ",") {
		os, arch, _ := strings.Cut(word, "/")
		p := Platform{os, arch}
		if !slices.Contains(All, p) {
			return nil, fmt.Errorf("unsupported platform %q: supported are %v, separated by commas", word, All)
		}
		if slices.Contains(chosen, p) {
			return nil, fmt.Errorf("duplicate platform %q", word)
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}
