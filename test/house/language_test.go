// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files of the list itself contain every phrase.
func TestLanguage_HasNoBannedPhrases(t *testing.T) {
	for _, s := range tree(t) {
		if strings.HasPrefix(s.path, "test/house/language") {
			continue
		}
		for _, f := range s.bannedPhrases() {
			t.Error(f)
		}
	}
}

func TestLanguage_FindsBannedPhrases(t *testing.T) {
	const head = header + "\npackage a\n\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"plain":           {head + "// A is what a client reads.\nvar A = \"the object is deleted\"\n", nil},
		"comment":         {head + "// A is Told by\n// nobody.\nvar A = 1\n", []string{`a/a.go:6: "told"; write: reports, returns, records`, `a/a.go:6: "nobody"; write: name the user, client or process: no user, another client, any user`}},
		"string":          {head + "var a = \"it is gone\"\n", []string{`a/a.go:6: "is gone"; write: is deleted, is not found`}},
		"split line":      {head + "// A is looked\n// after.\nvar A = 1\n", []string{`a/a.go:6: "looked after"; write: checks, reads, manages, reconciles`}},
		"part of a word":  {head + "// A is besides a shallow anewer.\nvar A = 1\n", nil},
		"identifier only": {head + "var told, nobody = 1, 2\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parse(t, "a/a.go", tc.text).bannedPhrases()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
