// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifacts embeds the deployment manifests and the examples, so that programs that apply them do not depend
// on the working directory.
package artifacts

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Deploy contains the manifests of deploy, and those of monitoring for the component monitoring.
//
//go:embed deploy monitoring
var Deploy embed.FS

// Quickstart contains examples/quickstart.yaml.
//
//go:embed examples/quickstart.yaml
var Quickstart []byte

// ArgoCD contains gitops/argocd/argocd-cm.yaml.
//
//go:embed gitops/argocd/argocd-cm.yaml
var ArgoCD []byte

// Objects returns the objects of deploy/base in the order in which they are applied. Files for which without returns
// true are omitted.
func Objects(without func(file string) bool) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(Deploy, "deploy/base/[0-9]*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the deployment: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		if without(name) {
			continue
		}
		data, err := Deploy.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the deployment: %w", err)
		}
		objects, err := Decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Decode returns the objects of a YAML stream.
func Decode(data []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var objects []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding a manifest: %w", err)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}
