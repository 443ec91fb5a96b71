// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	inside   = regexp.MustCompile(`\]\(#([^)]*)\)`)
	dropped  = regexp.MustCompile(`[^a-z0-9 -]`)
)

// A type that has links but no section was not reached by hack/api-docs.
func TestAPIDocument_HasEveryReferencedType(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/api.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, h := range headings.FindAllStringSubmatch(string(text), -1) {
		there[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	links := inside.FindAllStringSubmatch(string(text), -1)
	for _, link := range links {
		if !there[link[1]] {
			t.Errorf("docs/reference/api.md has a link to #%s, and no such section", link[1])
		}
	}
	for _, want := range []string{"virtualmachine-vm", "machine-cluster", "virtualmachineinstancetype-instancetype"} {
		if !there[want] {
			t.Errorf("docs/reference/api.md has no section #%s", want)
		}
	}
	if len(links) < 300 {
		t.Errorf("docs/reference/api.md has only %d links", len(links))
	}
}
