// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A constant that validation does not accept cannot be stored, although a controller may set it.
func TestEnums_ValidationAcceptsEveryConstant(t *testing.T) {
	for _, group := range []string{"vm", "instancetype", "cluster"} {
		used := identifiersIn(t, filepath.Join(group, "validation"))
		for enum, constants := range enumsOf(t, filepath.Join(group, "v1alpha1")) {
			var missing []string
			for _, name := range constants {
				if !used[name] {
					missing = append(missing, name)
				}
			}
			if enum == "GuestHeartbeatStatus" {
				continue // only some values are valid as the threshold of a probe
			}
			if n := len(missing); n > 0 && n < len(constants) && len(constants)-n > 1 {
				t.Errorf("%s: validation has %d constants of %s, but not %s", group, len(constants)-n, enum, strings.Join(missing, ", "))
			}
		}
	}
}

func parseDir(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// identifiersIn returns all identifiers in the Go files of a directory.
func identifiersIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, file := range parseDir(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	return used
}

// enumsOf returns the names of the typed constants in the Go files of a directory, by type.
func enumsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	enums := map[string][]string{}
	for _, file := range parseDir(t, dir) {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, spec := range decl.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					if enum, ok := value.Type.(*ast.Ident); ok && ast.IsExported(enum.Name) {
						enums[enum.Name] = append(enums[enum.Name], value.Names[0].Name)
					}
				}
			}
		}
	}
	return enums
}
