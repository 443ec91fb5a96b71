// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package kustomized

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build returns the objects of a directory, in the order in which they are applied.
func Build(dir string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // kubectl does
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, r := range made.Resources() {
		content, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding an object of %s: %w", dir, err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(content); err != nil {
			return nil, fmt.Errorf("decoding an object of %s: %w", dir, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}
