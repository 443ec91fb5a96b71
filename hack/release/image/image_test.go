// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/elf"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/slipway-dev/slipway/hack/release/archive"
	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/sbom"
)

const version = "v1.2.3"

var (
	made      = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	platforms = []build.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
)

// contentsOf builds the programs of testdata/tree or of a copy.
func contentsOf(t *testing.T, dir, version string, platforms ...build.Platform) Contents {
	t.Helper()
	c := Contents{Name: "slipway-apiserver", Version: version, Revision: "0123456789abcdef", Made: made,
		Files: []archive.File{{Name: "licenses/slipway/LICENSE", Mode: 0o444, Data: []byte("Apache")}}}
	m := build.Module{Dir: dir, Flags: []string{"-ldflags=-s -w -X main.version=" + version}, Log: os.Stderr}
	for _, p := range platforms {
		path, err := m.Program(t.Context(), p, "./cmd/"+c.Name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bill, err := sbom.Of(path, c.Name, version, made)
		if err != nil {
			t.Fatal(err)
		}
		c.Programs = append(c.Programs, Program{Platform: p, Data: data, SBOM: bill, Notices: []byte("of others")})
	}
	return c
}

// pushed returns an image in a local registry.
func pushed(t *testing.T) (remote.Descriptor, name.Repository, Contents) {
	t.Helper()
	c := contentsOf(t, "../testdata/tree", version, platforms...)
	image, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	to, err := Tag(strings.TrimPrefix(server.URL, "http://") + "/slipway/slipway-apiserver:" + version)
	if err != nil {
		t.Fatal(err)
	}
	if err := image.Push(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	d, err := remote.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	want, err := image.Index.Digest()
	if err != nil || d.Digest != want {
		t.Fatalf("pulled %s, %v; pushed %s", d.Digest, err, want)
	}
	return *d, to.Context(), c
}

func TestImage_RunsItsProgramAsANumericUser(t *testing.T) {
	descriptor, _, _ := pushed(t)
	index, err := descriptor.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the index is not valid: %v", err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, p := range platforms {
		image := of(t, index, p)
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if file.OS != p.OS || file.Architecture != p.Arch || !file.Created.Time.Equal(made) {
			t.Errorf("%s: the image is for %s/%s, created %s", p, file.OS, file.Architecture, file.Created)
		}
		wantConfig := v1.Config{User: "65532:65532", Entrypoint: []string{"/usr/local/bin/slipway-apiserver"}, Env: []string{"PATH=/usr/local/bin"}, WorkingDir: "/", Labels: map[string]string{
			"org.opencontainers.image.title":         "slipway-apiserver",
			"org.opencontainers.image.description":   "Virtual machines on vSphere as native Kubernetes API objects",
			"org.opencontainers.image.licenses":      "Apache-2.0",
			"org.opencontainers.image.source":        "https://github.com/slipway-dev/slipway",
			"org.opencontainers.image.documentation": "https://github.com/slipway-dev/slipway/blob/main/docs/how-to/operate/install-with-manifests.md",
			"org.opencontainers.image.version":       version,
			"org.opencontainers.image.revision":      "0123456789abcdef",
			"org.opencontainers.image.created":       "2026-02-03T04:05:06Z",
		}}
		if diff := cmp.Diff(wantConfig, file.Config); diff != "" {
			t.Errorf("%s: config (-want +got):\n%s", p, diff)
		}
		root := unpacked(t, image)
		program := filepath.Join(root, file.Config.Entrypoint[0])
		if got := machineOf(t, program); got != machines[p.Arch] {
			t.Errorf("%s: the program is for %s", p, got)
		}
		for name, want := range map[string]string{"LICENSE": "Apache", "THIRD_PARTY_NOTICES": "of others"} {
			if got, err := os.ReadFile(filepath.Join(root, "licenses/slipway", name)); string(got) != want {
				t.Errorf("%s: %s has %q, %v", p, name, got, err)
			}
		}
		if !p.Native() {
			continue
		}
		if got, want := inside(t, root, file, "--version"), "slipway-apiserver version v1.2.3\n"; got != want {
			t.Errorf("%s: --version prints %q, want %q", p, got, want)
		}
		if got := inside(t, root, file); !strings.HasSuffix(got, "roots true, users missing true, PATH /usr/local/bin\n") || os.Getuid() == 0 && !strings.HasPrefix(got, "uid 65532, gid 65532,") {
			t.Errorf("%s: the program prints %q in the image", p, got)
		}
	}
}

func TestImage_HasABillOfMaterialsForEachPlatform(t *testing.T) {
	descriptor, repository, c := pushed(t)
	index, err := descriptor.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range platforms {
		digest, err := of(t, index, p).Digest()
		if err != nil {
			t.Fatal(err)
		}
		subject := repository.Digest(digest.String())
		referrers, err := remote.Referrers(subject)
		if err != nil {
			t.Fatal(err)
		}
		list, err := referrers.IndexManifest()
		if err != nil || len(list.Manifests) != 1 || list.Manifests[0].ArtifactType != sbom.MediaType {
			t.Fatalf("%s: referrers %+v, %v, want one of type %s", p, list, err, sbom.MediaType)
		}
		bill, err := remote.Image(repository.Digest(list.Manifests[0].Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := bill.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%s: layers %v, %v", p, layers, err)
		}
		content, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(content)
		if diff := cmp.Diff(string(c.Programs[i].SBOM), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", p, err, diff)
		}
	}
}

// The second tree is in another directory with a space in its path and has other file times. make image-twice also compiles it
// with an empty cache, which takes a minute of a core.
func TestImage_IsReproducible(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "with a space")
	if err := os.CopyFS(elsewhere, os.DirFS("../testdata/tree")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("CGO_ENABLED", "1")
	digests := map[string]string{}
	for name, c := range map[string]Contents{
		"original":        contentsOf(t, "../testdata/tree", version, platforms[0]),
		"copy":            contentsOf(t, elsewhere, version, platforms[0]),
		"another version": contentsOf(t, elsewhere, "v1.2.4", platforms[0]),
	} {
		image, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "image")
		if err := image.WriteLayout(dir); err != nil {
			t.Fatal(err)
		}
		data, err := image.Archive(dir)
		if err != nil {
			t.Fatal(err)
		}
		digests[name] = string(data)
		written, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(written); err != nil {
			t.Errorf("%s: the layout is not valid: %v", name, err)
		}
	}
	if digests["original"] != digests["copy"] {
		t.Error("the same sources result in two images")
	}
	if digests["original"] == digests["another version"] {
		t.Error("two versions result in one image")
	}
}

func TestTag_RequiresHostNameAndTag(t *testing.T) {
	for _, bad := range []string{"slipway-apiserver", "slipway-apiserver:v1", "registry.example.com/slipway-apiserver", "registry.example.com/Slipway:v1", "registry.example.com/slipway@sha256:" + strings.Repeat("0", 64)} {
		if _, err := Tag(bad); err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "must be host/name:tag") {
			t.Errorf("Tag(%q): %v", bad, err)
		}
	}
	if tag, err := Tag("registry.example.com:5000/a/b:v1"); err != nil || tag.RegistryStr() != "registry.example.com:5000" || tag.TagStr() != "v1" {
		t.Errorf("%v, %v", tag, err)
	}
}
