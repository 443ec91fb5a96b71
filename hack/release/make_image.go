// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/slipway-dev/slipway/hack/release/archive"
	"github.com/slipway-dev/slipway/hack/release/image"
)

// image creates the image of the server for the Linux platforms, pushes it if requested, and returns the name with
// which it can be pulled.
func (r *release) image(ctx context.Context) (string, error) {
	licence, err := r.read("LICENSE")
	if err != nil {
		return "", err
	}
	contents := image.Contents{
		Name: server.name, Version: r.version, Revision: r.revision, Made: r.made,
		Files: []archive.File{{Name: "licenses/slipway/LICENSE", Mode: 0o444, Data: licence}},
	}
	for _, p := range r.platforms {
		if !server.runsOn(p) {
			continue
		}
		b, err := r.program(ctx, p, server)
		if err != nil {
			return "", err
		}
		text, err := r.notices(ctx, b.packages)
		if err != nil {
			return "", err
		}
		contents.Programs = append(contents.Programs, image.Program{Platform: p, Data: b.data, SBOM: b.bill, Notices: text})
	}
	if len(contents.Programs) == 0 {
		return "", fmt.Errorf("cannot create an image for %v: the server requires Linux", r.platforms)
	}
	made, err := image.New(contents)
	if err != nil {
		return "", err
	}
	return r.publish(ctx, made)
}

// publish writes an image and pushes it if requested.
func (r *release) publish(ctx context.Context, made *image.Image) (string, error) {
	hash, err := made.Index.Digest()
	if err != nil {
		return "", fmt.Errorf("computing the digest: %w", err)
	}
	dir := filepath.Join(r.out, "image")
	if err := made.WriteLayout(dir); err != nil {
		return "", err
	}
	oci, err := made.Archive(dir)
	if err != nil {
		return "", err
	}
	file := fmt.Sprintf("%s_%s_oci.tar", server.name, r.version)
	if err := r.write(file, oci); err != nil {
		return "", err
	}
	if err := r.write("image.digest", []byte(hash.String()+"\n")); err != nil {
		return "", err
	}
	fmt.Printf("created image %s: %s\n", hash, filepath.Join(r.out, file))
	if r.push == "" {
		return server.name + ":" + r.version, nil
	}
	to, err := image.Tag(r.push)
	if err != nil {
		return "", err
	}
	if err := made.Push(ctx, to); err != nil {
		return "", err
	}
	fmt.Printf("pushed %s@%s\n", to, hash)
	return fmt.Sprintf("%s@%s", to, hash), nil
}
