// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// repeating matches the functions of other packages that repeat, delay or queue work, or that list
// and watch objects.
var repeating = regexp.MustCompile(`^(time\.(After|AfterFunc|NewTicker|NewTimer|Tick|Sleep)` +
	`|wait\.(Until|Poll|Exponential|Jitter|Forever|NonSliding|Backoff|Loop)\w*` +
	`|retry\.(OnError|RetryOnConflict)` +
	`|workqueue\.(New|Default)\w*|priorityqueue\.New|controller\.(For|NewQueue|NewRateLimiter)` +
	`|rate\.New\w*|flowcontrol\.New\w*` +
	`|\w+\.New\w*(Informer|Reflector|LeaderElector)\w*)$`)

// loops returns the functions of a file of the server that loop without an end, repeat, delay or
// queue work, or start goroutines. A function is named by its directory and its receiver.
func (s source) loops() []string {
	if !s.ofServer() {
		return nil
	}
	var found []string
	for _, decl := range s.file.Decls {
		name := "var"
		if d, ok := decl.(*ast.FuncDecl); ok {
			if name = d.Name.Name; d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
		}
		// The parts that a Run starts are loops of their own.
		runs := strings.HasSuffix(strings.ToLower(name), "run")
		if repeats(decl) || !runs && starts(decl) {
			found = append(found, strings.TrimPrefix(path.Dir(s.path), "pkg/")+"/"+name)
		}
	}
	return found
}

// ofServer reports whether the file is a part of the server.
func (s source) ofServer() bool {
	ofTests := slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
	return (strings.HasPrefix(s.path, "pkg/") || strings.HasPrefix(s.path, "cmd/slipway-apiserver/")) && !ofTests && !s.isTest()
}

// receiver returns the name of the type of a receiver.
func receiver(t ast.Expr) string {
	name := ""
	ast.Inspect(t, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// repeats reports whether something in n repeats, delays or queues work, or starts a goroutine for
// each of several things.
func repeats(n ast.Node) bool {
	return contains(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			return n.Cond == nil || waits(n.Cond) || n.Post == nil && waits(n.Body) || starts(n.Body)
		case *ast.RangeStmt:
			return starts(n.Body)
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			return ok && repeating.MatchString(x.Name+"."+n.Sel.Name)
		}
		return false
	})
}

// waits reports whether something in n may wait: it has a context or uses a channel.
func waits(n ast.Node) bool {
	return contains(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt, *ast.SendStmt:
			return true
		case *ast.UnaryExpr:
			return n.Op == token.ARROW
		case *ast.Ident:
			return n.Name == "ctx"
		}
		return false
	})
}

// starts reports whether something in n starts a goroutine.
func starts(n ast.Node) bool {
	return contains(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return true
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			return ok && s.Sel.Name == "Go"
		}
		return false
	})
}

// contains reports whether is holds for n or for a node below it.
func contains(n ast.Node, is func(ast.Node) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}
