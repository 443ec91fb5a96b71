// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests converts the manifests of the repository to those of a release, which contain its image.
//
// Guarantee: only the names of the image change, and all of them do.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"

	"github.com/slipway-dev/slipway/hack/release/archive"
)

var (
	// placeholder is the name of the image in the manifests of the repository.
	placeholder = regexp.MustCompile(`(?m)^(\s*(?:- )?image: )slipway-apiserver(?::[\w.-]+)?$`)
	separator   = []byte("---\n")
)

// WithImage returns the files with the placeholder replaced by the image.
func WithImage(files []archive.File, image string) ([]archive.File, error) {
	named := 0
	changed := make([]archive.File, 0, len(files))
	for _, f := range files {
		named += len(placeholder.FindAll(f.Data, -1))
		f.Data = placeholder.ReplaceAll(f.Data, []byte("${1}"+image))
		changed = append(changed, f)
	}
	if named == 0 {
		return nil, errors.New("no manifest contains a line \"image: slipway-apiserver:VERSION\"")
	}
	return changed, nil
}

// Joined returns the manifests of one directory, without subdirectories, in one file.
func Joined(files []archive.File, dir string) ([]byte, error) {
	var parts [][]byte
	for _, f := range files {
		if path.Dir(f.Name) == dir && path.Ext(f.Name) == ".yaml" && path.Base(f.Name) != "kustomization.yaml" {
			parts = append(parts, f.Data)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("no manifests in %s", dir)
	}
	return bytes.Join(parts, separator), nil
}
