// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"strings"
)

// script returns a bash script with the console blocks of a Markdown page, or "" if it has none. The script stops at the
// first command that fails and prints the line of the page at which each block begins.
func script(page string) string {
	var out strings.Builder
	in, end := false, ""
	for i, line := range strings.Split(page, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case end == "" && strings.HasPrefix(text, "```"):
			end = "```"
			if in = text == "```console"; in {
				fmt.Fprintf(&out, "echo '# line %d'\n", i+1)
			}
		case end != "" && text == end:
			in, end = false, ""
		case in:
			out.WriteString(line + "\n")
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "set -eo pipefail\n" + out.String()
}
