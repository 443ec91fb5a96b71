// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"strings"

	"github.com/slipway-dev/slipway/test/documented"
)

// script returns a bash script with the console blocks of a Markdown page, or "" if it has none. The script stops at the
// first command that fails and prints the line of the page at which each block begins.
func script(page string) string {
	blocks := documented.Blocks(page, "console")
	if len(blocks) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("set -eo pipefail\n")
	for _, b := range blocks {
		fmt.Fprintf(&out, "echo '# line %d'\n%s", b.Line, b.Text)
	}
	return out.String()
}
