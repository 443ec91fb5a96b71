// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/notices"
	"github.com/slipway-dev/slipway/hack/release/sbom"
)

// program is one that is released. slipway-dev is none: it is for who has the sources.
type program struct {
	name string
	// version are the arguments with which it says its own, without a cluster.
	version []string
	runsOn  func(build.Platform) bool
}

var (
	server  = program{"slipway-apiserver", []string{"--version"}, func(p build.Platform) bool { return p.OS == "linux" }}
	virtctl = program{"virtctl", []string{"version", "--client"}, func(build.Platform) bool { return true }}
)

// release is what is made of sources.
type release struct {
	sources
	root, out, version, push, url string
	platforms                     []build.Platform
	// flags of go build.
	flags []string
	// programs are those that were built, by their names and platforms: the server is in the
	// image, and in archives.
	programs map[string]built
	// written are the names of all files that are to be published, with what is in them.
	written map[string][]byte
}

// built is a program of a platform, with its bill of materials, and the licences of what it is
// made of.
type built struct{ data, bill, notices []byte }

// program builds one, unless it was built before.
func (r *release) program(ctx context.Context, p build.Platform, what program) (built, error) {
	key := what.name + " " + p.Name()
	if b, ok := r.programs[key]; ok {
		return b, nil
	}
	b, err := r.build(ctx, p, what)
	if err == nil {
		r.programs[key] = b
	}
	return b, err
}

// build builds a program, and writes its bill of materials.
func (r *release) build(ctx context.Context, p build.Platform, what program) (b built, err error) {
	dir := filepath.Join(r.out, "build", p.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, fmt.Errorf("making the directory of programs: %w", err)
	}
	start := time.Now()
	m := build.Module{Dir: r.root, Flags: r.flags, Log: os.Stderr}
	path, err := m.Program(ctx, p, what.name, dir)
	if err != nil {
		return b, err
	}
	fmt.Printf("built %s for %s in %.0f s\n", what.name, p, time.Since(start).Seconds())
	if p.Native() {
		if err := build.Says(ctx, r.version, path, what.version...); err != nil {
			return b, err
		}
	}
	if b.bill, err = sbom.Of(path, what.name, r.version, r.made); err != nil {
		return b, err
	}
	packages, err := m.Packages(ctx, p, what.name)
	if err != nil {
		return b, err
	}
	goroot, err := m.GoRoot(ctx)
	if err != nil {
		return b, err
	}
	if b.notices, err = notices.Of(packages, goroot); err != nil {
		return b, fmt.Errorf("gathering the licences of %s for %s: %w", what.name, p, err)
	}
	if b.data, err = os.ReadFile(path); err != nil {
		return b, fmt.Errorf("reading the program: %w", err)
	}
	return b, r.write(fmt.Sprintf("%s_%s_%s.cdx.json", what.name, r.version, p.Name()), b.bill)
}

// read reads a file of the repository.
func (r *release) read(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil {
		return nil, fmt.Errorf("reading a file of the release: %w", err)
	}
	return data, nil
}

// write writes a file that is to be published.
func (r *release) write(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
		return fmt.Errorf("writing the release: %w", err)
	}
	r.written[name] = data
	return nil
}
