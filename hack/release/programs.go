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

// program is a released program. slipway-dev is not released, because it requires the sources.
type program struct {
	name string
	// version are the arguments that print the version without a cluster.
	version []string
	runsOn  func(build.Platform) bool
}

var (
	server  = program{"slipway-apiserver", []string{"--version"}, func(p build.Platform) bool { return p.OS == "linux" }}
	virtctl = program{"virtctl", []string{"version", "--client"}, func(build.Platform) bool { return true }}
)

// release is the state of one release.
type release struct {
	sources
	root, out, version, push, url string
	platforms                     []build.Platform
	// flags are flags of go build.
	flags []string
	// programs are the built programs by name and platform. The server is used for the image and for archives.
	programs map[string]built
	// written are the contents of all published files by name.
	written map[string][]byte
}

// built is a program of a platform with its bill of materials and third-party notices.
type built struct{ data, bill, notices []byte }

// program returns a program, which it builds once.
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

// build builds a program and writes its bill of materials.
func (r *release) build(ctx context.Context, p build.Platform, what program) (b built, err error) {
	dir := filepath.Join(r.out, "build", p.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, fmt.Errorf("creating the directory of programs: %w", err)
	}
	start := time.Now()
	m := build.Module{Dir: r.root, Flags: r.flags, Log: os.Stderr}
	path, err := m.Program(ctx, p, what.name, dir)
	if err != nil {
		return b, err
	}
	fmt.Printf("built %s for %s in %.0f s\n", what.name, p, time.Since(start).Seconds())
	if p.Native() {
		if err := build.CheckVersion(ctx, r.version, path, what.version...); err != nil {
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
		return b, fmt.Errorf("collecting the licenses of %s for %s: %w", what.name, p, err)
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

// write writes a published file.
func (r *release) write(name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
		return fmt.Errorf("writing the release: %w", err)
	}
	r.written[name] = data
	return nil
}
