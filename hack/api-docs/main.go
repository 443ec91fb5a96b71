// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command api-docs prints docs/reference/api.md, which lists every kind of the API with its fields. It reads the comments of
// the types in the package directories that are its arguments.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

const head = `<!-- Written by hack/api-docs (make generate) from the types below pkg/apis. -->

# The API

All kinds and their fields, as in ` + "`kubectl explain`" + `. Fields are optional unless marked as required.
The guides in this directory describe their use.

`

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(os.Args[1:], out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "api-docs:", err)
		os.Exit(1)
	}
}

func run(dirs []string, out io.Writer) error {
	var groups []*group
	for _, dir := range dirs {
		g, err := read(dir)
		if err != nil {
			return err
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return errors.New("no directory of API types was given")
	}
	_, _ = io.WriteString(out, head)
	for _, g := range groups {
		_, _ = fmt.Fprintf(out, "- [%s](#%s): ", g.name, anchor(g.name))
		for i, k := range g.kinds() {
			if i > 0 {
				_, _ = io.WriteString(out, ", ")
			}
			_, _ = io.WriteString(out, g.link(k.name))
		}
		_, _ = io.WriteString(out, "\n")
	}
	for _, g := range groups {
		_, _ = fmt.Fprintf(out, "\n## %s\n", g.name)
		kinds := g.kinds()
		for _, t := range kinds {
			g.write(out, t)
		}
		for _, t := range g.types {
			if !slices.Contains(kinds, t) && g.reached[t.name] {
				g.write(out, t)
			}
		}
	}
	return nil
}
