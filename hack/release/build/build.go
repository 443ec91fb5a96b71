// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Module is a directory with a go.mod file and the configuration of its builds.
type Module struct {
	Dir string
	// Flags are additional flags of go build.
	Flags []string
	// Log receives the output of go build.
	Log io.Writer
}

// pinned contains variables that a build must not inherit. Without cgo, programs are static and can be built for any
// platform. An empty GOFLAGS would use the value of go env -w, so flags are set explicitly.
var pinned = []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off", "GODEBUG="}

// Program builds the program of a package for a platform into a directory and returns its path. The package is
// ./cmd/NAME or one of a required module; the last element of its path is the name of the program.
func (m Module) Program(ctx context.Context, p Platform, pkg, dir string) (string, error) {
	name := path.Base(pkg)
	file := filepath.Join(dir, p.Executable(name))
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", file}, m.Flags...)
	cmd := m.command(ctx, p, append(args, pkg)...)
	cmd.Stdout, cmd.Stderr = m.Log, m.Log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s for %s: %w", name, p, err)
	}
	return file, nil
}

// command returns a go command for a platform.
func (m Module) command(ctx context.Context, p Platform, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.Dir
	cmd.Env = append(os.Environ(), pinned...)
	cmd.Env = append(cmd.Env, "GOOS="+p.OS, "GOARCH="+p.Arch)
	return cmd
}

// Native reports whether programs of the platform run on this machine.
func (p Platform) Native() bool { return p.OS == runtime.GOOS && p.Arch == runtime.GOARCH }

// Version returns the version of the module that contains the main package of a program.
func Version(program string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("reading the build information: %w", err)
	}
	return info.Main.Version, nil
}

// CheckVersion runs a program and returns an error unless a word of its output is want. It detects a version that was not
// stamped before the program is published.
func CheckVersion(ctx context.Context, want, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if word == want {
			return nil
		}
	}
	return fmt.Errorf("%s %s printed %q, want %s", program, strings.Join(args, " "), out, want)
}
