// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"slices"
	"strings"
)

// maxTop is the number of directories that pkg may have at its top.
const maxTop = 14

// floors are the directories at the top of pkg, from the bottom. A directory imports
// only directories that stand before it, so there is no cycle between them.
var floors = []string{
	"apis", "generated",
	"hardware", "instancetype", "networks", "priorityqueue", "lease", "store",
	"registry", "provider", "cluster", "controller", "apiserver",
}

// floor returns the position in floors of the package path, or -1 if it is not in pkg.
// A directory that floors does not have is above all others.
func floor(path string) int {
	rest, inside := strings.CutPrefix(path, module+"pkg/")
	if !inside {
		return -1
	}
	top, _, _ := strings.Cut(rest, "/")
	if i := slices.Index(floors, top); i >= 0 {
		return i
	}
	return len(floors)
}

// climbs returns the imports of p that go upward.
func climbs(p pkg) []string {
	own := floor(p.ImportPath)
	if own < 0 {
		return nil
	}
	if own == len(floors) {
		return []string{p.ImportPath + " is in a directory that floors does not have"}
	}
	var found []string
	for _, imp := range p.Imports {
		if floor(imp) > own {
			found = append(found, fmt.Sprintf("%s imports %s, which is above it", p.ImportPath, imp))
		}
	}
	return found
}

// Upward returns the number of imports of a package that go upward.
func Upward(path string, imports []string) int {
	return len(climbs(pkg{ImportPath: path, Imports: imports}))
}
