// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import "strings"

// exact is a name or inventory path such that govmomi's finder finds what is called so
// and nothing else. To the finder names are patterns of path.Match, and the parts ..
// and ... lead elsewhere (package find).
func exact(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		part = patterns.Replace(part)
		if part == ".." || part == "..." {
			part = `\` + part
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// patterns quotes what path.Match gives a meaning to.
var patterns = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
