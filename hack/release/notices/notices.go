// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notices gathers the licences and notices of what is in a program, which go with
// every copy of it.
//
// Guarantee: each module is named with all files of that kind that are between its root and
// the packages of it that are in the program; a module without one is an error.
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

// names are those of files that say under which terms something may be copied.
var names = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

// Of are the notices of packages, and those of Go itself, whose root is goroot. A text that
// several modules have is there once.
func Of(packages []build.Package, goroot string) ([]byte, error) {
	files := map[string]map[string]bool{} // by what they are of
	add := func(of, root, dir string) error {
		for {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return fmt.Errorf("looking for licences: %w", err)
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
			return nil, fmt.Errorf("%s has no file with its licence, by which it may be given to others", of)
		}
	}
	return written(files)
}

// written is each text behind the names of those that have it.
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
