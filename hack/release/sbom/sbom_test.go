// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

var made = time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("there", 3600))

// program builds the release command as an example of a program with dependencies.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func read(t *testing.T, path string) (*cdx.BOM, string) {
	t.Helper()
	text, err := Of(path, "program", "v1.2.3", made)
	if err != nil {
		t.Fatal(err)
	}
	bom := &cdx.BOM{}
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	return bom, string(text)
}

func TestSBOM_ContainsTheModulesOfTheProgram(t *testing.T) {
	path := program(t)
	bom, _ := read(t, path)
	out, err := exec.CommandContext(t.Context(), "go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); words[0] == "dep" {
			want = append(want, purl(words[1], words[2]))
		}
	}
	if len(want) < 5 {
		t.Fatalf("go version -m prints only %v", want)
	}
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.PackageURL)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, *(*bom.Dependencies)[0].Dependencies); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	c := bom.Metadata.Component
	if c.Name != "program" || c.Version != "v1.2.3" || !strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/slipway-dev/slipway/hack/release@v1.2.3#") {
		t.Errorf("the component is %s %s (%s)", c.Name, c.Version, c.PackageURL)
	}
	if bom.Metadata.Timestamp != "2026-02-03T03:05:06Z" {
		t.Errorf("the timestamp is %s", bom.Metadata.Timestamp)
	}
}

func TestSBOM_IsReproducible(t *testing.T) {
	path := program(t)
	_, first := read(t, path)
	if _, second := read(t, path); first != second {
		t.Errorf("(-first +second):\n%s", cmp.Diff(first, second))
	}
}

func TestPackageURL_IsLowerCaseAndEscaped(t *testing.T) {
	if got, want := purl("github.com/NYTimes/gziphandler", "v1.1.1+incompatible"), "pkg:golang/github.com/nytimes/gziphandler@v1.1.1%2Bincompatible"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSBOM_FailsForOtherFiles(t *testing.T) {
	if _, err := Of("sbom_test.go", "x", "v1", made); err == nil || !strings.Contains(err.Error(), "reading the build information of sbom_test.go") {
		t.Errorf("error %v", err)
	}
}
