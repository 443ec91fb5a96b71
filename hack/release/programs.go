// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/notices"
	"github.com/slipway-dev/slipway/hack/release/sbom"
)

// program is a released program.
type program struct {
	name string
	// module is the directory of the module that is built, relative to the root, and pkg the package in it.
	module, pkg string
	// version are the arguments that print the version without a cluster. slipway-dev has none.
	version []string
	runsOn  func(build.Platform) bool
}

var (
	server  = own("slipway-apiserver", onLinux, "--version")
	virtctl = own("virtctl", func(build.Platform) bool { return true }, "version", "--client")
	// environment are slipway-dev and all programs that it or its users start. Its etcd is a part of slipway-dev.
	environment = []program{
		own("slipway-dev", onLinux), server, virtctl,
		kubernetes("kube-apiserver", "--version"), kubernetes("kube-controller-manager", "--version"),
		kubernetes("kubectl", "version", "--client"),
	}
)

func onLinux(p build.Platform) bool { return p.OS == "linux" }

func own(name string, runsOn func(build.Platform) bool, version ...string) program {
	return program{name, ".", "./cmd/" + name, version, runsOn}
}

// kubernetes returns a program of the Kubernetes version in hack/tools.
func kubernetes(name string, version ...string) program {
	return program{name, "hack/tools", "k8s.io/kubernetes/cmd/" + name, version, onLinux}
}

// release is the state of one release.
type release struct {
	sources
	root, out, version, push, url string
	platforms                     []build.Platform
	// flags are flags of go build.
	flags []string
	// programs are the built programs by name and platform. The server is used for the image and for archives.
	programs map[string]built
	// checksums are the checksums of all published files by name.
	checksums map[string][sha256.Size]byte
}

// built is a program of a platform with its bill of materials and the packages that it contains.
type built struct {
	data, bill []byte
	packages   []build.Package
}

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
	m := build.Module{Dir: filepath.Join(r.root, what.module), Flags: r.flags, Log: os.Stderr}
	path, err := m.Program(ctx, p, what.pkg, dir)
	if err != nil {
		return b, err
	}
	fmt.Printf("built %s for %s in %.0f s\n", what.name, p, time.Since(start).Seconds())
	version := r.version
	if what.module != "." {
		if version, err = build.Version(path); err != nil {
			return b, err
		}
	}
	if p.Native() && len(what.version) > 0 {
		if err := build.CheckVersion(ctx, version, path, what.version...); err != nil {
			return b, err
		}
	}
	if b.bill, err = sbom.Of(path, what.name, version, r.made); err != nil {
		return b, err
	}
	if b.packages, err = m.Packages(ctx, p, what.pkg); err != nil {
		return b, err
	}
	if b.data, err = os.ReadFile(path); err != nil {
		return b, fmt.Errorf("reading the program: %w", err)
	}
	return b, r.write(fmt.Sprintf("%s_%s_%s.cdx.json", what.name, version, p.Name()), b.bill)
}

// notices returns the third-party notices of packages.
func (r *release) notices(ctx context.Context, packages []build.Package) ([]byte, error) {
	goroot, err := build.Module{Dir: r.root}.GoRoot(ctx)
	if err != nil {
		return nil, err
	}
	return notices.Of(packages, goroot)
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
	r.checksums[name] = sha256.Sum256(data)
	return nil
}
