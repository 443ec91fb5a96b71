// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxFileLines and maxFunctionLines are the limits of CONTRIBUTING.md.
	maxFileLines     = 600
	maxFunctionLines = 100
	header           = "// Copyright The Slipway Authors.\n// SPDX-License-Identifier: Apache-2.0\n"
)

// bannedPackages are package names without meaning.
var bannedPackages = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc"}

// leftovers are marks of unfinished work. They are put together here so that this
// file does not contain them.
var leftovers = regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|XX` + `X)\b|\b[tbf]\.` + `Skip(f|Now)?\(|\btime\.` + `Sleep\(`)

// logReferences are texts that refer a user to a log. Users of the API cannot read the logs of the server, so a
// message must contain the cause.
var logReferences = regexp.MustCompile(`(?i)\b(check|see|read|consult|inspect|look (at|in|into))\b[^.]{0,40}\blogs?\b|\b(controller|server)('s)? logs?\b`)

// source is one parsed file.
type source struct {
	path string
	text string
	set  *token.FileSet
	file *ast.File
}

func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(pos).Line)
}

// findings applies all rules for a single file.
func (s source) findings() []string {
	var found []string
	if !strings.HasPrefix(s.text, header) {
		found = append(found, s.path+": the licence header of hack/boilerplate.go.txt is missing")
	}
	if lines := strings.Count(s.text, "\n"); lines >= maxFileLines {
		found = append(found, fmt.Sprintf("%s: %d lines, fewer than %d are allowed", s.path, lines, maxFileLines))
	}
	if slices.Contains(bannedPackages, s.file.Name.Name) {
		found = append(found, fmt.Sprintf("%s: package name %q has no meaning", s.path, s.file.Name.Name))
	}
	for i, line := range strings.Split(s.text, "\n") {
		m := leftovers.FindString(line)
		if strings.HasPrefix(m, "time.") && s.maySleep() {
			continue
		}
		if m != "" {
			found = append(found, fmt.Sprintf("%s:%d: %q is left behind", s.path, i+1, m))
		}
	}
	for _, decl := range s.file.Decls {
		found = append(found, s.declaration(decl)...)
	}
	return append(found, s.references()...)
}

// references finds texts of the product that refer to logs.
func (s source) references() []string {
	if s.isTest() || !strings.HasPrefix(s.path, "pkg/") && !strings.HasPrefix(s.path, "cmd/virtctl/") {
		return nil
	}
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && logReferences.MatchString(text.Value) {
			found = append(found, fmt.Sprintf("%s: %s refers to a log, which users cannot read", s.at(text.Pos()), text.Value))
		}
		return true
	})
	return found
}

func (s source) declaration(decl ast.Decl) []string {
	var found []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		first, last := s.set.Position(d.Pos()).Line, s.set.Position(d.End()).Line
		if lines := last - first + 1; lines > maxFunctionLines {
			found = append(found, fmt.Sprintf("%s: function %s has %d lines, at most %d are allowed", s.at(d.Pos()), d.Name.Name, lines, maxFunctionLines))
		}
		if !s.isTest() && d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			found = append(found, fmt.Sprintf("%s: %s has no comment", s.at(d.Pos()), d.Name.Name))
		}
	case *ast.GenDecl:
		if s.isTest() || s.file.Name.Name == "main" {
			break
		}
		for _, spec := range d.Specs {
			if name, doc := exportedSpec(spec); name != "" && doc == nil && d.Doc == nil {
				found = append(found, fmt.Sprintf("%s: %s has no comment", s.at(spec.Pos()), name))
			}
		}
	}
	return found
}

// maySleep is true if sleeping advances the fake clock of testing/synctest, and for benchmarks, in which a sleep
// simulates work.
func (s source) maySleep() bool {
	return strings.Contains(s.text, `"testing/synctest"`) || strings.HasPrefix(s.path, "test/performance/")
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// exportedReceiver is true for functions, and for methods of exported types.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
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
			return x.IsExported()
		default:
			return true
		}
	}
}

// exportedSpec returns the exported name that a specification declares, empty when it
// declares none, and its comment.
func exportedSpec(spec ast.Spec) (string, *ast.CommentGroup) {
	switch sp := spec.(type) {
	case *ast.TypeSpec:
		if sp.Name.IsExported() {
			return sp.Name.Name, first(sp.Doc, sp.Comment)
		}
	case *ast.ValueSpec:
		for _, n := range sp.Names {
			if n.IsExported() {
				return n.Name, first(sp.Doc, sp.Comment)
			}
		}
	}
	return "", nil
}

func first(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}
