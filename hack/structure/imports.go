// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/test/imports"
)

// reportImports prints the number of imports of this module for each top directory of pkg.
func reportImports(w io.Writer) error {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./pkg/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the packages: %w", err)
	}
	type counts struct{ packages, imports, upward int }
	all := map[string]counts{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read the list of packages: %w", err)
		}
		top, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module+"/pkg/"), "/")
		c := all[top]
		c.packages++
		c.upward += imports.Upward(p.ImportPath, p.Imports)
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module+"/") {
				c.imports++
			}
		}
		all[top] = c
	}
	_, _ = fmt.Fprintln(w, "\n| below pkg | packages | imports of this module | upward |\n|---|---:|---:|---:|")
	for _, top := range slices.Sorted(maps.Keys(all)) {
		c := all[top]
		_, _ = fmt.Fprintf(w, "| `%s` | %d | %d | %d |\n", top, c.packages, c.imports, c.upward)
	}
	return nil
}
