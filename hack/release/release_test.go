// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"
)

// pushed is a release that several tests read.
var pushed struct {
	sync.Once
	files map[string][]byte
	// repository is the repository to which the image was pushed.
	repository string
}

// pushedRelease creates a release whose image is pushed, once for all tests.
func pushedRelease(t *testing.T) (files map[string][]byte, repository string) {
	t.Helper()
	pushed.Do(func() {
		registry := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
		t.Cleanup(registry.Close)
		pushed.repository = strings.TrimPrefix(registry.URL, "http://") + "/slipway-apiserver"
		pushed.files = released(t, t.TempDir(), "-push="+pushed.repository+":v1.2.3", "-url=https://example.com/v1.2.3/")
	})
	return pushed.files, pushed.repository
}

// released creates a release of a copy of testdata/tree and returns its files.
func released(t *testing.T, dir string, args ...string) map[string][]byte {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/tree")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1770091506")
	platforms := "linux/amd64,windows/amd64,darwin/arm64"
	args = append([]string{"-root=" + dir, "-version=v1.2.3", "-platforms=" + platforms}, args...)
	if err := run(t.Context(), append(args, "all", "-ldflags=-X main.version=v1.2.3", "-ldflags=k8s.io/kubernetes/cmd/...=-X main.version=v1.37.2")); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(dir, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue // skips the image layout and the built programs
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, "dist", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestRelease_BuildsAProgramOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tree")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1770091506")
	r := release{root: dir, version: "v1.2.3", flags: []string{"-ldflags=-X main.version=v1.2.3"}, programs: map[string]built{}, checksums: map[string][sha256.Size]byte{}}
	if err := r.complete(t.Context(), "linux/amd64"); err != nil {
		t.Fatal(err)
	}
	first, err := r.program(t.Context(), r.platforms[0], server)
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(r.out, "build")
	if err := os.RemoveAll(place); err != nil {
		t.Fatal(err)
	}
	again, err := r.program(t.Context(), r.platforms[0], server)
	if _, statErr := os.Stat(place); err != nil || !bytes.Equal(first.data, again.data) || !errors.Is(statErr, os.ErrNotExist) {
		t.Errorf("second call: error %v, same %t, built again %t", err, bytes.Equal(first.data, again.data), statErr == nil)
	}
}

func TestRelease_IsReproducibleWithAllFilesAndChecksums(t *testing.T) {
	dir := t.TempDir()
	files := released(t, dir)
	want := []string{
		"SHA256SUMS", "image.digest",
		"kube-apiserver_v1.37.2_linux_amd64.cdx.json", "kube-controller-manager_v1.37.2_linux_amd64.cdx.json", "kubectl_v1.37.2_linux_amd64.cdx.json",
		"slipway-1.2.3.tgz", "slipway-apiserver_v1.2.3_linux_amd64.cdx.json", "slipway-apiserver_v1.2.3_linux_amd64.tar.gz", "slipway-apiserver_v1.2.3_oci.tar",
		"slipway-dev_v1.2.3_linux_amd64.cdx.json", "slipway-dev_v1.2.3_linux_amd64.tar.gz",
		"slipway.yaml", "slipway_v1.2.3_manifests.tar.gz", "virt.yaml",
		"virtctl_v1.2.3_darwin_arm64.cdx.json", "virtctl_v1.2.3_darwin_arm64.tar.gz",
		"virtctl_v1.2.3_linux_amd64.cdx.json", "virtctl_v1.2.3_linux_amd64.tar.gz",
		"virtctl_v1.2.3_windows_amd64.cdx.json", "virtctl_v1.2.3_windows_amd64.zip",
	}
	got := make([]string, 0, len(files))
	for name := range files {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if lines := bytes.Count(files["SHA256SUMS"], []byte("\n")); lines != len(want)-1 {
		t.Errorf("%d sums of %d files:\n%s", lines, len(want)-1, files["SHA256SUMS"])
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = filepath.Join(dir, "dist")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v: %s", err, out)
	}
	again := released(t, filepath.Join(t.TempDir(), "with a space"))
	for name, data := range files {
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s differs in a second release", name)
		}
	}
}

func TestRelease_ArchivesContainProgramLicenseAndCompletion(t *testing.T) {
	files, _ := pushedRelease(t)
	unix := untar(t, files["virtctl_v1.2.3_linux_amd64.tar.gz"])
	wantModes := map[string]int64{"virtctl": 0o755, "kubectl_complete-virt": 0o755, "kubectl_complete-slipway": 0o755, "LICENSE": 0o644, "THIRD_PARTY_NOTICES": 0o644}
	if diff := cmp.Diff(wantModes, modes(unix)); diff != "" {
		t.Errorf("virtctl for Linux (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"slipway-apiserver": 0o755, "LICENSE": 0o644, "THIRD_PARTY_NOTICES": 0o644}, modes(untar(t, files["slipway-apiserver_v1.2.3_linux_amd64.tar.gz"]))); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	environment := untar(t, files["slipway-dev_v1.2.3_linux_amd64.tar.gz"])
	wantModes = map[string]int64{
		"slipway-dev": 0o755, "slipway-apiserver": 0o755, "virtctl": 0o755, "kube-apiserver": 0o755, "kube-controller-manager": 0o755, "kubectl": 0o755,
		"LICENSE": 0o644, "THIRD_PARTY_NOTICES": 0o644,
	}
	if diff := cmp.Diff(wantModes, modes(environment)); diff != "" {
		t.Errorf("slipway-dev (-want +got):\n%s", diff)
	}
	for _, want := range []string{"k8s.io/kubernetes v1.37.2\n\nLicense of the replacement of Kubernetes\n", "The Go Authors"} {
		if text := string(environment["THIRD_PARTY_NOTICES"].data); !strings.Contains(text, want) {
			t.Errorf("the notices of slipway-dev do not contain %q: %.200q", want, text)
		}
	}
	if text := string(unix["THIRD_PARTY_NOTICES"].data); !strings.Contains(text, "The Go Authors") {
		t.Errorf("the notices do not contain the copyright of Go: %.200q", text)
	}
	program := filepath.Join(t.TempDir(), "virtctl")
	if err := os.WriteFile(program, unix["virtctl"].data, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program).Output(); runtime.GOARCH == "amd64" && string(out) != "Client: v1.2.3\n" {
		t.Errorf("virtctl printed %q, %v", out, err)
	}
	zipped := files["virtctl_v1.2.3_windows_amd64.zip"]
	in, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range in.File {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"virtctl.exe", "LICENSE", "THIRD_PARTY_NOTICES"}, names); diff != "" {
		t.Errorf("virtctl for Windows (-want +got):\n%s", diff)
	}
}

func TestRelease_ManifestsContainTheDigestOfTheImage(t *testing.T) {
	files, repository := pushedRelease(t)
	image := repository + ":v1.2.3@" + strings.TrimSpace(string(files["image.digest"]))
	want := "kind: Namespace\n---\nkind: Pod\nspec:\n  containers:\n  - image: " + image + "\n    name: server\n"
	if diff := cmp.Diff(want, string(files["slipway.yaml"])); diff != "" {
		t.Errorf("slipway.yaml (-want +got):\n%s", diff)
	}
	all := untar(t, files["slipway_v1.2.3_manifests.tar.gz"])
	for name, want := range map[string]string{
		"artifacts/deploy/base/50-server.yaml":     "kind: Pod\nspec:\n  containers:\n  - image: " + image + "\n    name: server\n",
		"artifacts/deploy/more/service.yaml":       "kind: Service\n",
		"artifacts/deploy/base/kustomization.yaml": "resources: []\n",
		"artifacts/recovery/restore.yaml":          "image: " + image + "\n",
		"artifacts/examples/zones.yaml":            "kind: Zone\n",
	} {
		if diff := cmp.Diff(want, string(all[name].data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRelease_ChartHasVersionAndImage(t *testing.T) {
	files, repository := pushedRelease(t)
	chart := untar(t, files["slipway-1.2.3.tgz"])
	digest := strings.TrimSpace(string(files["image.digest"]))
	for name, want := range map[string]string{
		"slipway/Chart.yaml":            "name: slipway\nversion: \"1.2.3\"\nappVersion: \"v1.2.3\"\n",
		"slipway/values.yaml":           "image:\n  repository: \"" + repository + "\"\n  tag: \"v1.2.3\"\n  digest: \"" + digest + "\"\n",
		"slipway/templates/server.yaml": "image: {{ .Values.image.repository }}\n",
	} {
		if diff := cmp.Diff(want, string(chart[name].data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// krew requires each of these fields, correct checksums, and programs that the archives contain.
func TestRelease_KrewManifestMatchesTheArchives(t *testing.T) {
	files, _ := pushedRelease(t)
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				URI, SHA256, Bin string
				Selector         struct{ MatchLabels map[string]string }
				Files            []struct{ From, To string }
			}
		}
	}
	if err := yaml.UnmarshalStrict(files["virt.yaml"], &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata.Name != "virt" || plugin.Spec.Version != "v1.2.3" {
		t.Errorf("the manifest is of %s %s %s %s", plugin.APIVersion, plugin.Kind, plugin.Metadata.Name, plugin.Spec.Version)
	}
	platforms := []string{}
	for _, p := range plugin.Spec.Platforms {
		platforms = append(platforms, p.Selector.MatchLabels["os"]+"/"+p.Selector.MatchLabels["arch"])
		name, below := strings.CutPrefix(p.URI, "https://example.com/v1.2.3/")
		if sum := fmt.Sprintf("%x", sha256.Sum256(files[name])); !below || p.SHA256 != sum {
			t.Errorf("%s has checksum %s, the file has %s", p.URI, p.SHA256, sum)
		}
		in := map[string]bool{}
		if path.Ext(name) == ".zip" {
			r, err := zip.NewReader(bytes.NewReader(files[name]), int64(len(files[name])))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.File {
				in[f.Name] = true
			}
		} else {
			for f := range untar(t, files[name]) {
				in[f] = true
			}
		}
		for _, f := range p.Files {
			if !in[f.From] || f.To != "." {
				t.Errorf("%s is installed to %s, but the archive %s contains %v", f.From, f.To, name, in)
			}
		}
		if len(p.Files) == 0 || p.Files[0].From != p.Bin {
			t.Errorf("the program %s is not among the installed files %v", p.Bin, p.Files)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "windows/amd64", "darwin/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

func TestRelease_RejectsInvalidArguments(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1770091506")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"-version=v1.2.3"}, `unknown argument "": must be image or all`},
		{[]string{"-version=1.2.3", "all"}, `-version="1.2.3": must be a version such as v0.1.0`},
		{[]string{"-version=v1.2.3", "-platforms=linux", "all"}, `-platforms: unsupported platform "linux": supported are`},
		{[]string{"-version=v1.2.3", "-push=x", "all"}, `-push: image "x": must be host/name:tag`},
		{[]string{"-version=v1.2.3", "-platforms=darwin/arm64", "all"}, "requires at least one Linux platform"},
		{[]string{"-version=v1.3.1", "all"}, "pkg/apis/testdata/v1.3.0 has no golden files of the objects that v1.3.0 stores"},
		{[]string{"-version=v9.9.9", "-platforms=linux/" + runtime.GOARCH, "image", "-ldflags=-X main.version=v1.2.3"}, "want v9.9.9"},
	} {
		args := append([]string{"-root=testdata/tree", "-out=" + t.TempDir()}, tc.args...)
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.args, err, tc.want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	if _, err := readSources(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), `SOURCE_DATE_EPOCH="today": must be seconds`) {
		t.Errorf("error %v", err)
	}
}

// packed is a file in an archive.
type packed struct {
	mode int64
	data []byte
}

func modes(files map[string]packed) map[string]int64 {
	all := map[string]int64{}
	for name, f := range files {
		all[name] = f.mode
	}
	return all
}

func untar(t *testing.T, data []byte) map[string]packed {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]packed{}
	for in := tar.NewReader(compressed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = packed{h.Mode, content}
	}
}
