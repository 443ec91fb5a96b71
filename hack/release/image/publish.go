// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/slipway-dev/slipway/hack/release/archive"
)

// Tag parses the reference to which an image is pushed, host/name:tag.
func Tag(reference string) (name.Tag, error) {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("image %q: must be host/name:tag, for example registry.example.com/slipway-apiserver:v0.1.0: %w", reference, err)
	}
	return tag, nil
}

// WriteLayout writes an OCI layout into a directory and replaces an existing one.
func (i *Image) WriteLayout(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the previous layout: %w", err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	err = path.AppendIndex(i.Index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": i.contents.Version,
		"io.containerd.image.name":          i.contents.Name + ":" + i.contents.Version,
	}))
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	return nil
}

// Archive returns the layout in a directory as one file.
func (i *Image) Archive(dir string) ([]byte, error) {
	files, err := archive.Directory(dir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := archive.Tar(&out, files, i.contents.Made); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Push pushes the image to a registry, and then the bills of materials, which refer to it. Credentials are read from
// the configuration of docker or podman.
func (i *Image) Push(ctx context.Context, to name.Tag) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(to, i.Index, options...); err != nil {
		return fmt.Errorf("pushing %s: %w", to, err)
	}
	for _, bill := range i.bills {
		digest, err := bill.Digest()
		if err != nil {
			return fmt.Errorf("pushing a bill of materials of %s: %w", to, err)
		}
		if err := remote.Write(to.Context().Digest(digest.String()), bill, options...); err != nil {
			return fmt.Errorf("pushing a bill of materials of %s: %w", to, err)
		}
	}
	return nil
}
