// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"errors"
	"fmt"
	"strings"
)

// begin and end enclose the rules in a document.
const (
	begin = "<!-- The table is written by make generate from test/imports/table.go. -->\n"
	end   = "<!-- End of the table. -->\n"
)

// Document returns document with the current floors and table between the markers.
func Document(document string) (string, error) {
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", errors.New("the document lacks the markers of the import table")
	}
	return before + begin + markdown() + end + after, nil
}

// markdown returns the floors and the table.
func markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`\n\n", strings.Join(floors, " < "))
	b.WriteString("| packages | may reach, of ours | never | why |\n|---|---|---|---|\n")
	for _, r := range table {
		never := append(paths(r.never, "/…", ""), paths(r.neverDirect, "", " (directly)")...)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name(r.tree), reached(r), strings.Join(never, ", "), r.why)
	}
	return b.String()
}

func name(tree string) string {
	if tree == "" {
		return "all others"
	}
	return "`" + tree + "/…`"
}

func reached(r rule) string {
	if r.ours == nil {
		return "everything"
	}
	all := append(paths(r.ours, "/…", ""), paths(r.single, "", "")...)
	if len(all) == 0 {
		return "–"
	}
	return strings.Join(all, ", ")
}

// paths quotes import paths, with inside added to each and after behind each.
func paths(all []string, inside, after string) []string {
	var quoted []string
	for _, p := range all {
		quoted = append(quoted, "`"+strings.TrimPrefix(p, module)+inside+"`"+after)
	}
	return quoted
}
