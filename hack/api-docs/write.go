// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// anchor returns the anchor of a heading.
func anchor(heading string) string {
	return strings.ToLower(strings.NewReplacer(".", "", " ", "-").Replace(heading))
}

// heading returns the heading of a type. It contains the group, because groups have types with equal names.
func (g *group) heading(name string) string {
	short, _, _ := strings.Cut(g.name, ".")
	return name + " (" + short + ")"
}

func (g *group) link(name string) string {
	return fmt.Sprintf("[%s](#%s)", name, strings.NewReplacer("(", "", ")", "").Replace(anchor(g.heading(name))))
}

// typed returns a type with a link to its element type.
func (g *group) typed(kind string) string {
	prefix := ""
	for _, p := range []string{"[]", "map[string]"} {
		if rest, ok := strings.CutPrefix(kind, p); ok {
			prefix, kind = prefix+p, rest
		}
	}
	if t, ok := g.byName[kind]; ok && (len(t.fields) > 0 || len(t.values) > 0) {
		return escaped(prefix) + g.link(kind)
	}
	return escaped(prefix + kind)
}

func (g *group) write(out io.Writer, t *object) {
	if len(t.fields) == 0 && len(t.values) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "\n### %s\n\n%s\n\n", g.heading(t.name), t.doc)
	if len(t.values) > 0 {
		_, _ = io.WriteString(out, "| value | |\n|---|---|\n")
		for _, v := range t.values {
			_, _ = fmt.Fprintf(out, "| `%s` | %s |\n", v.name, escaped(v.doc))
		}
		return
	}
	_, _ = io.WriteString(out, "| field | type | |\n|---|---|---|\n")
	for _, f := range t.fields {
		name := "`" + f.name + "`"
		if f.required {
			name += " (required)"
		}
		_, _ = fmt.Fprintf(out, "| %s | %s | %s |\n", name, g.typed(f.kind), escaped(f.doc))
	}
}

// escaped returns text escaped for a table cell.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`).Replace(text)
}
