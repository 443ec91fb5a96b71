// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Package is a package that a program contains.
type Package struct {
	// Dir is the directory of the package.
	Dir string
	// Module is the module of the package; nil for the standard library.
	Module *struct {
		Path, Version, Dir string
		// Main is true for the main module.
		Main bool
	}
}

// Packages returns all packages of the program of a package for a platform.
func (m Module) Packages(ctx context.Context, p Platform, pkg string) ([]Package, error) {
	cmd := m.command(ctx, p, "list", "-deps", "-json=Dir,Module", pkg)
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("listing the packages of %s for %s: %w", pkg, p, err)
	}
	var all []Package
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one Package
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the packages of %s for %s: %w", pkg, p, err)
		}
		all = append(all, one)
	}
}

// GoRoot returns the root directory of Go.
func (m Module) GoRoot(ctx context.Context) (string, error) {
	out, err := m.command(ctx, Platform{"linux", "amd64"}, "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("running go env GOROOT: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
