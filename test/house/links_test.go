// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	fenced   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	inline   = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	decorate = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchor returns the fragment that GitHub generates for a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(decorate.ReplaceAllString(heading, "$1")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// anchors returns the fragments of a page.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		all[anchor(m[1])] = true
	}
	return all
}

// broken returns the links of the page at path that have no target in the repository.
func broken(path, page string, read func(string) (string, error)) []string {
	var found []string
	known := map[string]map[string]bool{}
	text := inline.ReplaceAllString(fenced.ReplaceAllString(page, ""), "")
	for _, m := range linked.FindAllStringSubmatch(text, -1) {
		link := m[1]
		if strings.Contains(link, "://") {
			continue
		}
		file, fragment, _ := strings.Cut(link, "#")
		target := path
		if file != "" {
			target = filepath.Join(filepath.Dir(path), file)
		}
		content, err := read(target)
		if err != nil {
			found = append(found, link+": there is no such file")
			continue
		}
		if fragment == "" || filepath.Ext(target) != ".md" {
			continue
		}
		if known[target] == nil {
			known[target] = anchors(content)
		}
		if !known[target][fragment] {
			found = append(found, link+": there is no such heading")
		}
	}
	return found
}

// contentOf returns the text of a file, or nothing for a directory.
func contentOf(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", err
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

func TestLinks_HaveATarget(t *testing.T) {
	links := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(skipped, d.Name()) || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		page, err := contentOf(path)
		if err != nil {
			return err
		}
		for _, b := range broken(path, page, contentOf) {
			t.Errorf("%s: %s", path, b)
		}
		links += len(linked.FindAllString(page, -1))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 500 {
		t.Errorf("only %d links were found", links)
	}
}

func TestLinks_BrokenOnesAreFound(t *testing.T) {
	pages := map[string]string{"docs/a.md": "# Who, what & `why`\n## Twice\n## Twice\n", "x.go": ""}
	read := func(path string) (string, error) {
		if content, ok := pages[path]; ok {
			return content, nil
		}
		return "", fs.ErrNotExist
	}
	page := "[1](a.md) [2](a.md#who-what--why) [3](../x.go) [4](https://a/b#c) [5](#here) [6](b.md) [7](a.md#twice) [8](a.md#nothing) [9](#gone)\n" +
		"# Here\n`[code](c.md)`\n```\n[fence](d.md)\n# no heading\n```\n"
	want := []string{"b.md: there is no such file", "a.md#nothing: there is no such heading", "#gone: there is no such heading"}
	pages["docs/page.md"] = page
	if got := broken("docs/page.md", page, read); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
