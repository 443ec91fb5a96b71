// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/xml"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
)

// TestImageFile_OpenAcceptsGovmomiDescriptors opens the OVF descriptors of govmomi's test data
// (Apache-2.0, in the module), each next to files with the names and sizes that it specifies.
func TestImageFile_OpenAcceptsGovmomiDescriptors(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "ovf", "fixtures"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".ovf") {
			return err
		}
		got[outcome(t, path)]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"opened":                         654,
		"it contains no virtual machine": 166,
		"it has … bytes, at most … are supported":                                                     2,
		"reference to a file: … is not a valid file name: it must be relative and inside the package": 126,
		"file … is split into chunks, which is not supported: merge them with ovftool":                2,
		"refers to file …": 2,
		// What follows are descriptors that are malformed on purpose.
		"not a valid OVF descriptor: EOF": 1,
		"not a valid OVF descriptor: XML syntax error on line …: illegal character code U+…C":  1,
		"not a valid OVF descriptor: expected element type <Envelope> but have <FakeEnvelope>": 2,
		"not a valid OVF descriptor: expected element type <Envelope> but have <HTML>":         3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors by outcome (-want +got):\n%s", diff)
	}
}

// maxSparse is the maximum size of a sparse file created next to a descriptor.
const maxSparse = 1 << 38

var ownWords = regexp.MustCompile(`"[^"]*"|\S+\.\S+|[0-9]+`)

// outcome is "opened", or why the descriptor is refused, without its own words.
func outcome(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, "image.ovf")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var named struct {
		Files []struct {
			Href string `xml:"href,attr"`
			Size string `xml:"size,attr"`
		} `xml:"References>File"`
	}
	if xml.Unmarshal(text, &named) == nil {
		for _, ref := range named.Files {
			size, err := strconv.ParseInt(ref.Size, 10, 64)
			if !filepath.IsLocal(ref.Href) || err == nil && size > maxSparse {
				continue
			}
			file := filepath.Join(dir, ref.Href)
			if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, nil, 0o600) != nil || os.Truncate(file, max(size, 0)) != nil {
				_ = os.Remove(file) // The name or the size cannot be had here.
			}
		}
	}
	image, err := imagefile.Open(copied)
	if err == nil {
		defer func() { _ = image.Close() }()
		return "opened"
	}
	words, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "descriptor image.ovf"), ", which is not in")
	return strings.Join(strings.Fields(ownWords.ReplaceAllString(strings.TrimPrefix(words, ": "), "…")), " ")
}
