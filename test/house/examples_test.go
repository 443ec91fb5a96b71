// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples are the directories of manifests for users, relative to the root.
const examples = "artifacts/examples/"

func TestExamples_AreAppliedByEndToEndTests(t *testing.T) {
	files, err := os.ReadDir(filepath.Join(root, examples))
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if unread := notRead(names, tree(t)); len(unread) > 0 {
		t.Errorf("no end-to-end test reads the examples %v", unread)
	}
	test := parse(t, "test/e2e/x_test.go", "package e2e\n// of ../../"+examples+"b.yaml\nvar x = \"../../"+examples+"a.yaml\"\n")
	product := parse(t, "cmd/x.go", "package x\nvar x = \""+examples+"c.yaml\"\n")
	if diff := cmp.Diff([]string{"b.yaml", "c.yaml"}, notRead([]string{"a.yaml", "b.yaml", "c.yaml"}, []source{test, product})); diff != "" {
		t.Errorf("not read (-want +got):\n%s", diff)
	}
}

// notRead returns the examples whose paths are not in any string of an end-to-end test.
func notRead(names []string, all []source) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(all, func(s source) bool {
			return (strings.HasPrefix(s.path, "test/e2e/") || strings.HasPrefix(s.path, "test/operations/") || strings.HasPrefix(s.path, "test/availability/") || strings.HasPrefix(s.path, "test/clusterapi/")) &&
				strings.HasSuffix(s.path, "_test.go") && strings.Contains(s.text, examples+name+`"`)
		})
	})
}
