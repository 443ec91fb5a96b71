// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// qualified is an exported Go identifier with its package.
var qualified = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z][A-Za-z0-9]*\b`)

// callPrefix begins the names of the calls to vCenter's REST API in metrics and errors.
const callPrefix = "rest."

// identifiers returns the Go identifiers in the string literals of a file: of a package that the file imports, or that
// is in packages. A user cannot know them.
func (s source) identifiers(packages map[string]bool) (found []string) {
	known := map[string]bool{}
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		known[path.Base(name)] = true
		if spec.Name != nil {
			known[spec.Name.Name] = true
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			return false // tags are not shown
		}
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil || strings.HasPrefix(text, callPrefix) {
			return true
		}
		for _, match := range qualified.FindAllStringSubmatch(text, -1) {
			if known[match[1]] || packages[match[1]] {
				found = append(found, s.at(literal.Pos())+": "+match[0])
			}
		}
		return true
	})
	return found
}

// A renaming that goes through string literals leaves the name of a constant in a message.
func TestMessages_HaveNoGoIdentifiers(t *testing.T) {
	all, packages := tree(t), map[string]bool{}
	inProduct := func(s source) bool {
		return !s.isTest() && (strings.HasPrefix(s.path, "pkg/") || strings.HasPrefix(s.path, "cmd/")) && !strings.HasPrefix(s.path, "pkg/generated/")
	}
	for _, s := range all {
		if inProduct(s) {
			packages[s.file.Name.Name] = true
		}
	}
	for _, s := range all {
		if !inProduct(s) {
			continue
		}
		for _, f := range s.identifiers(packages) {
			t.Errorf("%s in a string: use a term that users know", f)
		}
	}
}

func TestMessages_IdentifiersAreFound(t *testing.T) {
	const head = header + "\npackage a\n\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"an imported package": {head + "import \"x/limits\"\n\nvar a = \"a whole number of limits.Megahertz\" + limits.X\n", []string{"limits.Megahertz"}},
		"another package":     {head + "var a = \"is no resource.Quantity.\"\n", []string{"resource.Quantity"}},
		"an alias":            {head + "import vmv1 \"x/v1\"\n\nvar a = `a vmv1.Zone` + vmv1.X\n", []string{"vmv1.Zone"}},
		"a field":             {head + "var a = \"spec.cpu.limit of vm.slipway.dev\"\n", nil},
		"the end of a text":   {head + "var a = \"unknown.The rest\"\n", nil},
		"a call":              {head + "import \"x/rest\"\n\nvar a = \"rest.Login\" + rest.X\n", nil},
		"a tag":               {head + "type t struct {\n\tA int `x:\"resource.Quantity\"`\n}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range parse(t, "a/a.go", tc.text).identifiers(map[string]bool{"resource": true}) {
				got = append(got, f[strings.LastIndex(f, " ")+1:])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("identifiers (-want +got):\n%s", diff)
			}
		})
	}
}
