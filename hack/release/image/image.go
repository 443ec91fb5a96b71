// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-dev/slipway/hack/release/archive"
	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/sbom"
)

const (
	// user is the user and group of the server in artifacts/deploy.
	user = "65532:65532"
	// bin is the directory of the program. It is in PATH, for kubectl exec.
	bin = "usr/local/bin"
	// rootsFile is the first file in which Go searches root certificates on Linux.
	rootsFile = "etc/ssl/certs/ca-certificates.crt"
)

// Contents are the contents of an image in addition to the root certificates.
type Contents struct {
	// Name of the program and of the image.
	Name string
	// Version is the tag. Revision is the revision of the sources; it may be empty.
	Version, Revision string
	// Made is the time of the sources.
	Made time.Time
	// Files are additional files for all platforms.
	Files []archive.File
	// Programs are the programs of all platforms.
	Programs []Program
}

// Program is the program of one platform with its bill of materials and third-party notices.
type Program struct {
	Platform            build.Platform
	Data, SBOM, Notices []byte
}

// Image is a multi-platform image.
type Image struct {
	contents Contents
	// Index is the index of the images of all platforms.
	Index v1.ImageIndex
	// bills are the bills of materials, which refer to the image of their platform.
	bills []v1.Image
}

// New creates an image.
func New(c Contents) (*Image, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	made := &Image{contents: c}
	for _, p := range c.Programs {
		one, err := c.forPlatform(p)
		if err != nil {
			return nil, fmt.Errorf("creating the image for %s: %w", p.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.Platform.OS, Architecture: p.Platform.Arch},
		}})
		bill, err := referrer(one, p.SBOM, c.annotations())
		if err != nil {
			return nil, fmt.Errorf("attaching the bill of materials for %s: %w", p.Platform, err)
		}
		made.bills = append(made.bills, bill)
	}
	made.Index = mutate.Annotations(index, c.annotations()).(v1.ImageIndex)
	return made, nil
}

func (c Contents) forPlatform(p Program) (v1.Image, error) {
	roots, err := systemRoots()
	if err != nil {
		return nil, err
	}
	files := append([]archive.File{
		{Name: bin + "/" + c.Name, Mode: 0o555, Data: p.Data},
		{Name: rootsFile, Mode: 0o444, Data: roots},
		{Name: "licenses/slipway/THIRD_PARTY_NOTICES", Mode: 0o444, Data: p.Notices},
	}, c.Files...)
	var text bytes.Buffer
	if err := archive.Tar(&text, files, c.Made); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	made := v1.Time{Time: c.Made.UTC()}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	one, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS: p.Platform.OS, Architecture: p.Platform.Arch, Created: made,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       user,
			Entrypoint: []string{"/" + bin + "/" + c.Name},
			Env:        []string{"PATH=/" + bin},
			WorkingDir: "/",
			Labels:     c.annotations(),
		},
	})
	if err != nil {
		return nil, err
	}
	one, err = mutate.Append(one, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "make image", Comment: c.Name + " " + c.Version}})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(one, c.annotations()).(v1.Image), nil
}

// annotations returns the OCI annotations, which are also the labels.
func (c Contents) annotations() map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":         c.Name,
		"org.opencontainers.image.description":   "Virtual machines on vSphere as native Kubernetes API objects",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        "https://github.com/slipway-dev/slipway",
		"org.opencontainers.image.documentation": "https://github.com/slipway-dev/slipway/blob/main/docs/how-to/operate/install-with-manifests.md",
		"org.opencontainers.image.version":       c.Version,
		"org.opencontainers.image.created":       c.Made.UTC().Format(time.RFC3339),
	}
	if c.Revision != "" {
		all["org.opencontainers.image.revision"] = c.Revision
	}
	return all
}

// referrer returns an artifact that a registry lists as a referrer of subject. The config media type is the artifact
// type, as registries before OCI 1.1 expect.
func referrer(subject v1.Image, bill []byte, annotations map[string]string) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbom.MediaType)
	artifact, err := mutate.AppendLayers(base, static.NewLayer(bill, sbom.MediaType))
	if err != nil {
		return nil, err
	}
	descriptor, err := partial.Descriptor(subject)
	if err != nil {
		return nil, err
	}
	annotated := mutate.Annotations(artifact, map[string]string{"org.opencontainers.image.created": annotations["org.opencontainers.image.created"]})
	return mutate.Subject(annotated, v1.Descriptor{MediaType: descriptor.MediaType, Digest: descriptor.Digest, Size: descriptor.Size}).(v1.Image), nil
}
