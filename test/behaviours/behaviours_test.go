// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
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

// skipped directories hold no tests of other packages.
var skipped = []string{".git", "bin", "_bin", ".cache", ".slipway", "testdata", "behaviours"}

// eachTestFile calls look with the tests of all other packages.
func eachTestFile(t *testing.T, look func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(skipped, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tests maps each number of a list to the files whose tests name it.
func tests(t *testing.T, list string) map[int][]string {
	t.Helper()
	found := map[int][]string{}
	mention := mentionOf(list)
	eachTestFile(t, func(path string, source []byte) {
		for _, n := range named(source, mention) {
			found[n] = append(found[n], path)
		}
	})
	return found
}

func TestBehaviours_AreReferencedByTests(t *testing.T) {
	found := tests(t, "F")
	for i, b := range all {
		if b.number != i+1 {
			t.Fatalf("entry %d of the table has number %d", i+1, b.number)
		}
		if len(found[b.number]) == 0 {
			t.Errorf("no test names F%d (%s): %s", b.number, b.mark, b.about)
		}
		delete(found, b.number)
	}
	for n, paths := range found {
		t.Errorf("F%d is not in the table; it is named by %s", n, paths[0])
	}
}

func TestMentions_AreFoundInStringsAndComments(t *testing.T) {
	const source = "package p\n// F7 comment\nvar F8 = \"F61 and F64-66, F70-F71\"\nvar x = `F120`\nvar y = \"xF5 F5x\" // F12"
	want := []int{7, 61, 64, 65, 66, 70, 71, 120, 12}
	if diff := cmp.Diff(want, named([]byte(source), mentionOf("F"))); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}
