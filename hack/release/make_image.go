// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-dev/slipway/hack/release/archive"
	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/image"
	"github.com/slipway-dev/slipway/hack/release/sbom"
)

// server is the program of the image, and the name of the image.
const server = "slipway-apiserver"

// release is what is made of sources.
type release struct {
	sources
	root, out, version, push string
	platforms                []build.Platform
	// flags of go build.
	flags []string
}

// program builds one, and writes its bill of materials beside it and into the release.
func (r *release) program(ctx context.Context, p build.Platform, name string, version ...string) (path string, bill []byte, err error) {
	dir := filepath.Join(r.out, "build", p.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("making the directory of programs: %w", err)
	}
	start := time.Now()
	m := build.Module{Dir: r.root, Flags: r.flags, Log: os.Stderr}
	if path, err = m.Program(ctx, p, name, dir); err != nil {
		return "", nil, err
	}
	fmt.Printf("built %s for %s in %.0f s\n", name, p, time.Since(start).Seconds())
	if p.Native() {
		if err := build.Says(ctx, r.version, path, version...); err != nil {
			return "", nil, err
		}
	}
	if bill, err = sbom.Of(path, name, r.version, r.made); err != nil {
		return "", nil, err
	}
	return path, bill, r.write(fmt.Sprintf("%s_%s_%s.cdx.json", name, r.version, p.Name()), bill)
}

func (r *release) write(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
		return fmt.Errorf("writing the release: %w", err)
	}
	return nil
}

// image makes the image of the server for the platforms of Linux.
func (r *release) image(ctx context.Context) error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return fmt.Errorf("reading the licence: %w", err)
	}
	contents := image.Contents{
		Name: server, Version: r.version, Revision: r.revision, Made: r.made,
		Files: []archive.File{{Name: "licenses/slipway/LICENSE", Mode: 0o444, Data: licence}},
	}
	for _, p := range r.platforms {
		if p.OS != "linux" {
			continue
		}
		path, bill, err := r.program(ctx, p, server, "--version")
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the program: %w", err)
		}
		contents.Programs = append(contents.Programs, image.Program{Platform: p, Data: data, SBOM: bill})
	}
	if len(contents.Programs) == 0 {
		return fmt.Errorf("no image for %v: the server is for Linux", r.platforms)
	}
	made, err := image.New(contents)
	if err != nil {
		return err
	}
	return r.publish(ctx, made)
}

// publish writes an image, and pushes it if asked to.
func (r *release) publish(ctx context.Context, made *image.Image) error {
	digest, err := made.Index.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	dir := filepath.Join(r.out, "image")
	if err := made.WriteLayout(dir); err != nil {
		return err
	}
	file := fmt.Sprintf("%s_%s_oci.tar", server, r.version)
	if err := made.WriteArchive(dir, filepath.Join(r.out, file)); err != nil {
		return err
	}
	if err := r.write("image.digest", []byte(digest.String()+"\n")); err != nil {
		return err
	}
	fmt.Printf("made the image %s: %s\n", digest, filepath.Join(r.out, file))
	if r.push == "" {
		return nil
	}
	to, err := image.Tag(r.push)
	if err != nil {
		return err
	}
	if err := made.Push(ctx, to); err != nil {
		return err
	}
	fmt.Printf("pushed %s@%s\n", to, digest)
	return nil
}
