// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the repository, seen from this package.
const root = "../.."

// skipped are directories without handwritten files.
var skipped = []string{".git", "bin", "_bin", ".cache", ".slipway", "dist", "testdata"}

func parse(t *testing.T, path, text string) source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{path: path, text: text, set: set, file: file}
}

// tree reads all Go files that are not generated.
func tree(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(skipped, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := parse(t, strings.TrimPrefix(filepath.ToSlash(path), root+"/"), string(data))
		if !ast.IsGenerated(s.file) && !strings.HasPrefix(s.path, "pkg/generated/openapi/") {
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFiles_FollowTheRules(t *testing.T) {
	for _, s := range tree(t) {
		for _, f := range s.findings() {
			t.Error(f)
		}
	}
}

func TestPackages_HaveADocComment(t *testing.T) {
	documented, seen := map[string]bool{}, map[string]string{}
	for _, s := range tree(t) {
		dir := filepath.Dir(s.path)
		if s.isTest() || s.file.Name.Name == "main" && s.file.Doc == nil {
			continue
		}
		seen[dir] = s.path
		documented[dir] = documented[dir] || s.file.Doc != nil
	}
	for dir := range seen {
		if !documented[dir] && !strings.HasPrefix(dir, "pkg/generated/") {
			t.Errorf("%s: no file has a package comment", dir)
		}
	}
}

func TestRules_FindViolations(t *testing.T) {
	long := strings.Repeat("\n", maxFileLines)
	for name, tc := range map[string]struct {
		path, text string
		want       []string
	}{
		"fine":                {"a/a.go", header + "\npackage a\n\n// F is fine.\nfunc F() {}\n", nil},
		"header":              {"a/a.go", "package a\n", []string{"a/a.go: the licence header of hack/boilerplate.go.txt is missing"}},
		"length":              {"a/a.go", header + "\npackage a\n" + long, []string{"a/a.go: 604 lines, fewer than 600 are allowed"}},
		"name":                {"a/a.go", header + "\npackage common\n", []string{`a/a.go: package name "common" has no meaning`}},
		"function":            {"a/a.go", header + "\npackage a\n\nfunc f() {" + long[:101] + "}\n", []string{"a/a.go:6: function f has 102 lines, at most 100 are allowed"}},
		"comment of function": {"a/a.go", header + "\npackage a\n\nfunc F() {}\n", []string{"a/a.go:6: F has no comment"}},
		"comment of method":   {"a/a.go", header + "\npackage a\n\n// T is.\ntype T[K any] struct{}\n\nfunc (t *T[K]) M() {}\n", []string{"a/a.go:9: M has no comment"}},
		"hidden method":       {"a/a.go", header + "\npackage a\n\ntype t struct{}\n\nfunc (t) M() {}\n", nil},
		"comment of type":     {"a/a.go", header + "\npackage a\n\ntype T struct{}\n", []string{"a/a.go:6: T has no comment"}},
		"comment of constant": {"a/a.go", header + "\npackage a\n\nconst C = 1\n", []string{"a/a.go:6: C has no comment"}},
		"comment of group":    {"a/a.go", header + "\npackage a\n\n// All.\nconst (\n\tC = 1\n\tD = 2\n)\n", nil},
		"no comment in tests": {"a/a_test.go", header + "\npackage a\n\nfunc TestF() {}\n", nil},
		"leftover":            {"a/a.go", header + "\npackage a\n\n// TO" + "DO: more.\n", []string{`a/a.go:6: "TO` + `DO" is left behind`}},
		"sleep":               {"a/a.go", header + "\npackage a\n\nfunc f() { time.Sl" + "eep(1) }\n", []string{`a/a.go:6: "time.Sl` + `eep(" is left behind`}},
		"reference to logs":   {"pkg/a/a.go", header + "\npackage a\n\nvar a, b, c = \"Please check controller logs for errors\", \"see the log\", \"its write-ahead log is empty\"\n", []string{`pkg/a/a.go:6: "Please check controller logs for errors" refers to a log, which users cannot read`, `pkg/a/a.go:6: "see the log" refers to a log, which users cannot read`}},
		"logs in a test":      {"pkg/a/a_test.go", header + "\npackage a\n\nvar a = \"see the log\"\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parse(t, tc.path, tc.text).findings()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
