// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notices collects the licenses and notices of a program's dependencies, which must accompany every copy of
// the program.
//
// Guarantee: for each module, all license files between its root and its packages in the program are included. A
// module without such a file is an error.
package notices

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/hack/release/build"
)

// names matches the names of license files.
var names = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

// Of returns the notices of packages and of Go, whose root directory is goroot. A text that several modules share is
// included once.
func Of(packages []build.Package, goroot string) ([]byte, error) {
	files := map[string]map[string]bool{} // by module
	add := func(of, root, dir string) error {
		for {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return fmt.Errorf("searching for licenses: %w", err)
			}
			for _, e := range entries {
				if e.Type().IsRegular() && names.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
					if files[of] == nil {
						files[of] = map[string]bool{}
					}
					files[of][filepath.Join(dir, e.Name())] = true
				}
			}
			if dir == root || !strings.HasPrefix(dir, root) {
				return nil
			}
			dir = filepath.Dir(dir)
		}
	}
	if err := add("Go", goroot, goroot); err != nil {
		return nil, err
	}
	all := []string{"Go"}
	for _, p := range packages {
		if p.Module == nil || p.Module.Main {
			continue
		}
		of := p.Module.Path + " " + p.Module.Version
		if err := add(of, p.Module.Dir, p.Dir); err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	for _, of := range all {
		if len(files[of]) == 0 {
			return nil, fmt.Errorf("%s has no license file", of)
		}
	}
	return written(files)
}

// written returns each text after the names of the modules that share it.
func written(files map[string]map[string]bool) ([]byte, error) {
	owners := map[string][]string{}
	var order []string
	for _, of := range slices.Sorted(maps.Keys(files)) {
		for _, file := range slices.Sorted(maps.Keys(files[of])) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading a licence: %w", err)
			}
			key := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			if owners[key] == nil {
				order = append(order, key)
			}
			if !slices.Contains(owners[key], of) {
				owners[key] = append(owners[key], of)
			}
		}
	}
	var out bytes.Buffer
	for _, text := range order {
		fmt.Fprintf(&out, "%s\n%s\n\n%s\n\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return out.Bytes(), nil
}
