// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package krew writes the manifest with which krew installs virtctl as kubectl virt.
//
// Guarantee: the manifest contains every given archive with its checksum and platform.
package krew

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Archive is the archive of one platform.
type Archive struct {
	OS, Arch string
	// Name and Data of the file.
	Name string
	Data []byte
	// Program is the program in the archive, and Files are other files to install.
	Program string
	Files   []string
}

type object = map[string]any

// Manifest returns the manifest of a version whose archives are below a URL.
func Manifest(version, url string, archives []Archive) ([]byte, error) {
	platforms := make([]any, 0, len(archives))
	for _, a := range archives {
		files := []any{object{"from": a.Program, "to": "."}}
		for _, f := range a.Files {
			files = append(files, object{"from": f, "to": "."})
		}
		sum := sha256.Sum256(a.Data)
		platforms = append(platforms, object{
			"selector": object{"matchLabels": object{"os": a.OS, "arch": a.Arch}},
			"uri":      strings.TrimSuffix(url, "/") + "/" + a.Name,
			"sha256":   hex.EncodeToString(sum[:]),
			"bin":      a.Program,
			"files":    files,
		})
	}
	text, err := yaml.Marshal(object{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   object{"name": "virt"},
		"spec": object{
			"version":          version,
			"homepage":         "https://github.com/slipway-dev/slipway",
			"shortDescription": "Manage virtual machines on vSphere",
			"description":      "Manages vSphere virtual machines that Slipway serves as Kubernetes objects:\nstart, stop, refresh, snapshot and describe.\n",
			"platforms":        platforms,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the manifest for krew: %w", err)
	}
	return text, nil
}
