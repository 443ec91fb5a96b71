// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/slipway-dev/slipway"

// function is a function with a body, or a package variable that may contain functions.
type function struct {
	file string
	body ast.Node
	info *types.Info
}

type program struct {
	functions map[string]*function
	as        map[string]string
}

func full(s string) string { return strings.ReplaceAll(s, "…", module) }

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// load type-checks the packages with the export data of their dependencies.
func (p *program) load(patterns []string) error {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the packages: %w", err)
	}
	exports := map[string]string{}
	var ours []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read the list of packages: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			ours = append(ours, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, l := range ours {
		if err := p.check(fset, imports, l); err != nil {
			return fmt.Errorf("check %s: %w", l.ImportPath, err)
		}
	}
	return nil
}

func (p *program) check(fset *token.FileSet, imports types.Importer, l listed) error {
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check(l.ImportPath, fset, files, info); err != nil {
		return err
	}
	for i, f := range files {
		file := strings.TrimPrefix(l.ImportPath, module+"/") + "/" + l.GoFiles[i]
		for _, d := range f.Decls {
			p.declare(file, d, info)
		}
	}
	return nil
}

func (p *program) declare(file string, d ast.Decl, info *types.Info) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if fn, ok := info.Defs[d.Name].(*types.Func); ok && d.Body != nil {
			p.functions[fn.FullName()] = &function{file: file, body: d.Body, info: info}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, name := range v.Names {
				p.functions[nameOf(info.Defs[name])] = &function{file: file, body: v, info: info}
			}
		}
	}
}

// nameOf returns the name of a function or package variable in the format of go/types.
func nameOf(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin().FullName()
	case *types.Var:
		if o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
			return o.Pkg().Path() + "." + o.Name()
		}
	}
	return ""
}

// calls returns the functions that f uses, in order, including those passed as values.
func (p *program) calls(f *function) []string {
	var out []string
	ast.Inspect(f.body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if name := nameOf(f.info.Uses[id]); name != "" {
				out = append(out, p.resolve(name))
			}
		}
		return true
	})
	return out
}

// resolve returns the method of the concrete type for a method of an interface.
func (p *program) resolve(name string) string {
	for face, concrete := range p.as {
		if method, ok := strings.CutPrefix(name, "("+face+")."); ok {
			return "(" + concrete + ")." + method
		}
	}
	return name
}

// path describes how the calls of a function visit files.
type path struct {
	functions, visits int
	// entered counts the visits of each file.
	entered map[string]int
}

// follow follows the calls of a function. Each function is visited once.
func (p *program) follow(from string) path {
	seen, entered := map[string]bool{}, map[string]int{}
	last, stays := "", 0
	var walk func(name string)
	walk = func(name string) {
		f := p.functions[name]
		if f == nil || seen[name] {
			return
		}
		seen[name] = true
		if f.file != last {
			last = f.file
			entered[last]++
			stays++
		}
		for _, callee := range p.calls(f) {
			walk(callee)
		}
	}
	walk(from)
	return path{functions: len(seen), visits: stays, entered: entered}
}

func (p *program) report(from string) {
	way := p.follow(from)
	entered := way.entered
	fmt.Printf("%s: %d functions, %d visits to %d files\n", from, way.functions, way.visits, len(entered))
	files := slices.SortedFunc(maps.Keys(entered), func(a, b string) int {
		return cmp.Or(cmp.Compare(entered[b], entered[a]), strings.Compare(a, b))
	})
	for _, file := range files {
		fmt.Printf("%4d %s\n", entered[file], file)
	}
}

// reportCycles prints the pairs of files in a package that call each other.
func (p *program) reportCycles() {
	arrows := map[[2]string]bool{}
	for _, f := range p.functions {
		for _, callee := range p.calls(f) {
			if to := p.functions[callee]; to != nil && to.file != f.file {
				arrows[[2]string{f.file, to.file}] = true
			}
		}
	}
	var pairs []string
	for a := range arrows {
		if arrows[[2]string{a[1], a[0]}] && a[0] < a[1] {
			pairs = append(pairs, a[0]+" <> "+a[1])
		}
	}
	slices.Sort(pairs)
	fmt.Printf("%d calls between files, %d pairs of files that call each other\n", len(arrows), len(pairs))
	for _, pair := range pairs {
		fmt.Println("     " + pair)
	}
}
