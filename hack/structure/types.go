// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// largest is the number of types in the report.
const largest = 10

// reasons explain the size of types.
var reasons = map[string]string{
	"pkg/provider/vsphere/inventory.Inventory": "It is the only cache of vCenter's updates: the object records and their locations share one lock.",
	"pkg/provider/vsphere.Driver":              "It implements the driver interface and delegates to its subpackages.",
	"pkg/provider/engine.Engine":               "It runs the operations of one vCenter, which share limits, state and a lock.",
	"pkg/provider/engine.reconciliation":       "It is one reconcile of one VM; each step of the plan is a method.",
	"pkg/provider/vsphere/action.Actor":        "Its methods are the operations on VMs; they share only the connection.",
	"pkg/provider/vsphere/session.Session":     "It is the connection to a vCenter, with its login, limits and services.",
	"pkg/provider/vsphere/create.Creator":      "Its methods are the steps of a create, which can stop after each step.",
	"pkg/controller/fleet/connections.Manager": "It provides the connected vCenters to all controllers.",
	"pkg/provider/vsphere/imagefiles.Files":    "It copies, verifies and removes the files of image copies on datastores.",
	"pkg/priorityqueue.Queue":                  "It implements client-go's queue interface with one lock and a pure core.",
}

// typeSize is the size of one type.
type typeSize struct {
	name            string
	methods, fields int
	files           map[string]bool
}

// reportTypes prints the types with the most methods.
func reportTypes(w io.Writer) error {
	sizes := map[string]*typeSize{}
	for _, top := range []string{"cmd", "pkg"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || generated(path) {
				return err
			}
			return measure(path, sizes)
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", top, err)
		}
	}
	all := make([]*typeSize, 0, len(sizes))
	for _, s := range sizes {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *typeSize) int {
		return cmp.Or(cmp.Compare(b.methods, a.methods), cmp.Compare(len(b.files), len(a.files)), cmp.Compare(a.name, b.name))
	})
	_, _ = fmt.Fprintln(w, "| type | methods | files | fields | why |\n|---|---:|---:|---:|---|")
	for _, s := range all[:min(largest, len(all))] {
		_, _ = fmt.Fprintf(w, "| `%s` | %d | %d | %d | %s |\n", s.name, s.methods, len(s.files), s.fields, cmp.Or(reasons[s.name], "no reason recorded"))
	}
	return nil
}

func generated(path string) bool {
	return strings.Contains(path, "zz_generated") || strings.HasPrefix(path, "pkg/generated/") || strings.HasSuffix(path, ".pb.go")
}

// measure adds the types and methods of a file.
func measure(path string, sizes map[string]*typeSize) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	of := func(name string) *typeSize {
		name = filepath.Dir(path) + "." + name
		if sizes[name] == nil {
			sizes[name] = &typeSize{name: name, files: map[string]bool{}}
		}
		return sizes[name]
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := receiver(d); name != "" {
				s := of(name)
				s.methods++
				s.files[path] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				switch x := t.Type.(type) {
				case *ast.StructType:
					of(t.Name.Name).fields = x.Fields.NumFields()
				case *ast.InterfaceType:
					s := of(t.Name.Name)
					s.methods = x.Methods.NumFields()
					s.files[path] = true
				}
			}
		}
	}
	return nil
}

// receiver returns the name of the receiver type, or an empty string.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
