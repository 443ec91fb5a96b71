// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// group is an API group, which is one package.
type group struct {
	name   string
	types  []*object
	byName map[string]*object
	// reached contains the types that kinds use directly or indirectly.
	reached map[string]bool
}

// object is a type: a struct with fields, or a string type with values.
type object struct {
	name, doc string
	kind      bool
	fields    []member
	values    []member
}

// member is a field or a value of a type.
type member struct {
	name, doc, kind string
	required        bool
}

// kinds returns the types that are kinds.
func (g *group) kinds() []*object {
	return slices.DeleteFunc(slices.Clone(g.types), func(t *object) bool { return !t.kind })
}

func read(dir string) (*group, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("reading %s: %w", dir, fs.ErrNotExist)
	}
	g := &group{byName: map[string]*object{}, reached: map[string]bool{}}
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, "_test.go") || strings.Contains(base, "generated") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", file, err)
		}
		for _, c := range f.Comments {
			if _, name, ok := strings.Cut(c.Text(), "+groupName="); ok {
				g.name, _, _ = strings.Cut(name, "\n")
			}
		}
		for _, d := range f.Decls {
			if decl, ok := d.(*ast.GenDecl); ok {
				g.declare(decl)
			}
		}
	}
	for _, t := range g.types {
		if t.kind {
			g.reach(t)
		}
	}
	return g, nil
}

func (g *group) declare(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = decl.Doc
			}
			t := g.named(s.Name.Name)
			t.doc = text(doc)
			g.types = append(g.types, t)
			if body, ok := s.Type.(*ast.StructType); ok {
				t.fields = fields(body)
				t.kind = slices.ContainsFunc(body.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && written(f.Type) == "TypeMeta" }) &&
					!slices.ContainsFunc(t.fields, func(m member) bool { return m.name == "items" })
			}
		case *ast.ValueSpec:
			if of, ok := s.Type.(*ast.Ident); ok && decl.Tok == token.CONST && len(s.Values) == 1 {
				if value, ok := s.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
					t := g.named(of.Name)
					t.values = append(t.values, member{name: strings.Trim(value.Value, `"`), doc: strings.TrimPrefix(text(s.Doc), s.Names[0].Name+" ")})
				}
			}
		}
	}
}

func (g *group) named(name string) *object {
	if g.byName[name] == nil {
		g.byName[name] = &object{name: name}
	}
	return g.byName[name]
}

func fields(body *ast.StructType) (out []member) {
	for _, f := range body.Fields.List {
		if f.Tag == nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		out = append(out, member{name: name, doc: strings.TrimPrefix(text(f.Doc), name+" "), kind: written(f.Type), required: strings.Contains(markers(f.Doc), "+required")})
	}
	return out
}

// reach adds the types that t uses.
func (g *group) reach(t *object) {
	for _, f := range t.fields {
		name := strings.NewReplacer("[]", "", "map[string]", "").Replace(f.kind)
		if next, ok := g.byName[name]; ok && !g.reached[name] {
			g.reached[name] = true
			g.reach(next)
		}
	}
}

// written returns the name of a type in the document.
func written(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return written(t.X)
	case *ast.ArrayType:
		if e := written(t.Elt); e != "byte" {
			return "[]" + e
		}
		return "bytes"
	case *ast.MapType:
		return "map[" + written(t.Key) + "]" + written(t.Value)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return "object"
}

// text returns a comment without markers in one line.
func text(doc *ast.CommentGroup) string {
	var words []string
	for line := range strings.Lines(doc.Text()) {
		if !strings.HasPrefix(line, "+") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}

func markers(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var out strings.Builder
	for _, c := range doc.List {
		if m, ok := strings.CutPrefix(c.Text, "// +"); ok {
			out.WriteString("+" + m + "\n")
		}
	}
	return out.String()
}
