// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// declaring are the files with the constants of conditions and reasons.
var declaring = []string{"pkg/apis/conditions/conditions.go", "pkg/apis/vm/v1alpha1/conditions.go", "pkg/apis/cluster/v1alpha1/conditions.go"}

// constants returns the values of the constants by package and name.
func constants(t *testing.T) (types, reasons map[string]string) {
	types, reasons = map[string]string{}, map[string]string{}
	for _, path := range declaring {
		file := parse(t, path, nil)
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				name := v.Names[0].Name
				if len(v.Values) != 1 {
					continue
				}
				text, ok := v.Values[0].(*ast.BasicLit)
				if !ok || text.Kind != token.STRING {
					continue
				}
				value, _ := strconv.Unquote(text.Value)
				if strings.HasPrefix(name, "Reason") || strings.HasSuffix(name, "Reason") {
					reasons[packageOf(path)+"."+name] = value
				} else {
					types[packageOf(path)+"."+name] = value
				}
			}
		}
	}
	return types, reasons
}

// packageOf returns the name by which the source imports the package of a file.
func packageOf(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == "v1alpha1" {
		return filepath.Base(filepath.Dir(dir)) + "v1alpha1"
	}
	return filepath.Base(dir)
}

func parse(t *testing.T, path string, text any) *ast.File {
	t.Helper()
	if text == nil {
		path = "../../" + path
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// product calls f with each file of the product but those with the constants.
func product(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	for _, tree := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir("../../"+tree, func(path string, d fs.DirEntry, err error) error {
			path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
			switch {
			case err != nil:
				return err
			case d.IsDir() && path == "pkg/generated":
				return filepath.SkipDir
			case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".pb.go") && !slices.Contains(declaring, path):
				f(path, parse(t, path, nil))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// named returns the qualified name of an expression that is a name, empty if it is none.
func named(e ast.Expr, pkg string) string {
	switch x := e.(type) {
	case *ast.Ident:
		return pkg + "." + x.Name
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok {
			return of.Name + "." + x.Sel.Name
		}
	}
	return ""
}

// pair is a reason with which the source sets a condition. The status is empty if the source computes it.
type pair struct {
	of, reason string
	status     metav1.ConditionStatus
}

// pairs returns the pairs of condition and reason, each a constant, in calls and composite literals of a file.
func pairs(path string, file *ast.File, types, reasons map[string]string) (all []pair) {
	statuses := map[string]metav1.ConditionStatus{"metav1.ConditionTrue": isTrue, "metav1.ConditionFalse": isFalse, "metav1.ConditionUnknown": isUnknown}
	methods := map[string]metav1.ConditionStatus{"True": isTrue, "False": isFalse}
	ast.Inspect(file, func(n ast.Node) bool {
		var operands []ast.Expr
		var p pair
		switch x := n.(type) {
		case *ast.CallExpr:
			operands = x.Args
			if s, ok := x.Fun.(*ast.SelectorExpr); ok {
				p.status = methods[s.Sel.Name]
			}
		case *ast.CompositeLit:
			for _, e := range x.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				operands = append(operands, e)
			}
		}
		conditions, given := 0, 0
		for _, e := range operands {
			name := named(e, packageOf(path))
			if value, ok := types[name]; ok {
				p.of, conditions = value, conditions+1
			} else if value, ok := reasons[name]; ok {
				p.reason, given = value, given+1
			} else if status, ok := statuses[name]; ok {
				p.status = status
			}
		}
		if conditions == 1 && given == 1 {
			all = append(all, p)
		}
		return true
	})
	return all
}

// has reports whether some kind of the table has a pair.
func has(p pair) bool {
	for i := range Kinds {
		for _, c := range slices.Concat(Kinds[i].Conditions, everyKind) {
			if c.Type == p.of && slices.ContainsFunc(c.Reasons, func(r Reason) bool { return r.Reason == p.reason && (p.status == "" || r.Status == p.status) }) {
				return true
			}
		}
	}
	return false
}

func TestTable_HasAllRowsOfTheSource(t *testing.T) {
	types, reasons := constants(t)
	n := 0
	product(t, func(path string, file *ast.File) {
		for _, p := range pairs(path, file, types, reasons) {
			if n++; !has(p) {
				t.Errorf("%s sets %s=%s with the reason %s, which test/reasons does not have for any kind", path, p.of, p.status, p.reason)
			}
		}
	})
	if n < 100 {
		t.Errorf("%d pairs found in the source, want more: are they read?", n)
	}
}

func TestPairs_AreFound(t *testing.T) {
	types, reasons := constants(t)
	file := parse(t, "p.go", `package p
func f() {
	p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
	set(l, vmv1alpha1.ConditionReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err)
	c := metav1.Condition{Type: clusterv1alpha1.ReadyCondition, Status: s, Reason: clusterv1alpha1.ReadyReason}
	_ = find(vmv1alpha1.ConditionReady) == vmv1alpha1.ReasonCreating
	refuse(vmv1alpha1.ReasonInvalid, "")
}`)
	want := []pair{{"Created", "Creating", isFalse}, {"Ready", "UnknownState", isUnknown}, {"Ready", "Ready", ""}}
	if got := pairs("pkg/p/p.go", file, types, reasons); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestConstants_AreUsedAndInTheTable(t *testing.T) {
	types, reasons := constants(t)
	used := map[string]bool{}
	product(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				used[named(e, packageOf(path))] = true
			}
			return true
		})
	})
	inTable, setWith := map[string]bool{}, map[string]bool{}
	for i := range Kinds {
		for _, c := range slices.Concat(Kinds[i].Conditions, everyKind) {
			inTable[c.Type] = true
			for _, r := range c.Reasons {
				setWith[r.Reason] = true
			}
		}
	}
	for what, of := range map[string]struct {
		constants map[string]string
		table     map[string]bool
	}{"condition": {types, inTable}, "reason": {reasons, setWith}} {
		table, values := of.table, map[string]bool{}
		for name, value := range of.constants {
			values[value] = true
			if !table[value] {
				t.Errorf("test/reasons does not have the %s %s (%s)", what, value, name)
			}
			if !used[name] {
				t.Errorf("nothing uses the %s %s: delete the constant", what, name)
			}
		}
		for _, value := range slices.Sorted(maps.Keys(table)) {
			if !values[value] {
				t.Errorf("test/reasons has the %s %s, which no constant of the API has", what, value)
			}
		}
	}
}
