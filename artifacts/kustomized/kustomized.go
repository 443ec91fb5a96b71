// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kustomized renders kustomizations like kubectl apply -k.
package kustomized

import (
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build returns the objects of a kustomization in the order in which they are applied. The kustomization is in a
// directory next to the top directories of files.
func Build(files fs.FS, kustomization string) ([]*unstructured.Unstructured, error) {
	memory := filesys.MakeFsInMemory()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return memory.WriteFile("/"+path, data)
	})
	if err == nil {
		err = memory.WriteFile("/slipway/kustomization.yaml", []byte(kustomization))
	}
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // like kubectl
	rendered, err := krusty.MakeKustomizer(options).Run(memory, "/slipway")
	if err != nil {
		return nil, fmt.Errorf("rendering manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, r := range rendered.Resources() {
		content, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", r.GetKind(), r.GetName(), err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(content); err != nil {
			return nil, fmt.Errorf("decoding %s %s: %w", r.GetKind(), r.GetName(), err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}
