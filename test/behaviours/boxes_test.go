// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// boxes is the page that lists the code and the tests of each box of the VirtualMachine controller.
const boxes = "docs/contributing/vm-controller.md"

// prefixes are the abbreviations of the page for directories.
var prefixes = map[string]string{
	"C": "pkg/controller", "VM": "pkg/controller/vm", "EN": "pkg/provider/engine", "VS": "pkg/provider/vsphere",
	"CF": "pkg/provider/conformance", "IT": "test/integration", "E2E": "test/e2e",
}

var (
	namedFile = regexp.MustCompile(`(?:\b(?:C|VM|EN|VS|CF|IT|E2E|pkg|cmd|test)/[\w/-]*)?\b\w+\.go\b`)
	// declaredIn is a file and the declared names, such as VS/create/clone.go `cloneOf`.
	declaredIn = regexp.MustCompile("(" + namedFile.String() + ") `([A-Za-z]\\w*)`")
)

func TestVMControllerPage_ListsExistingFilesAndTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, boxes))
	if err != nil {
		t.Fatal(err)
	}
	tests, sources := declaredTests(t), goSources(t)
	for _, problem := range notThere(string(page), tests, sources) {
		t.Errorf("%s: %s", boxes, problem)
	}
}

func TestVMControllerPage_MissingNamesAreFound(t *testing.T) {
	tests := map[string]bool{"TestThere": true}
	sources := map[string]string{"pkg/provider/vsphere/create/clone.go": "func cloneOf() {}", "pkg/controller/echo.go": ""}
	for line, want := range map[string]string{
		"| a clone | VS/create/clone.go `cloneOf` | `TestThere` |":   "",
		"| a clone | VS/create/clone.go `cloneOf`, echo.go | – |":    "",
		"| a clone | VS/create/source.go `cloneOf` | – |":            "there is no file VS/create/source.go",
		"| a clone | VS/create/clone.go `clone` | – |":               "VS/create/clone.go does not have clone",
		"| a clone | VS/create/clone.go | `TestGone`, `TestThere` |": "there is no test TestGone",
		"| an echo | C/echo.go, hints.go | – |":                      "there is no file hints.go",
	} {
		if got := strings.Join(notThere(line, tests, sources), "; "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// notThere returns the names on a page that the tree does not have.
func notThere(page string, tests map[string]bool, sources map[string]string) (problems []string) {
	for _, name := range listed.FindAllStringSubmatch(page, -1) {
		if !tests[name[1]] {
			problems = append(problems, "there is no test "+name[1])
		}
	}
	for _, name := range namedFile.FindAllString(page, -1) {
		if len(filesOf(name, sources)) == 0 {
			problems = append(problems, "there is no file "+name)
		}
	}
	for _, pair := range declaredIn.FindAllStringSubmatch(page, -1) {
		files := filesOf(pair[1], sources)
		word, found := regexp.MustCompile(`\b`+pair[2]+`\b`), len(files) == 0
		for _, f := range files {
			found = found || word.MatchString(sources[f])
		}
		if !found {
			problems = append(problems, pair[1]+" does not have "+pair[2])
		}
	}
	return problems
}

// filesOf returns the files that a name of the page can mean: one, or all of a name without a directory.
func filesOf(name string, sources map[string]string) (files []string) {
	if head, rest, ok := strings.Cut(name, "/"); ok {
		if prefix := prefixes[head]; prefix != "" {
			name = prefix + "/" + rest
		}
		if _, there := sources[name]; there {
			return []string{name}
		}
		return nil
	}
	for f := range sources {
		if path.Base(f) == name {
			files = append(files, f)
		}
	}
	return files
}

// goSources are the sources of the tree by their paths in it.
func goSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	for _, dir := range []string{"pkg", "cmd", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(file) != ".go" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, file)
			sources[filepath.ToSlash(rel)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sources
}
