// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// manifest returns obj as a user would write it, without status and fields that the server sets.
func manifest(obj runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting the manifest: %w", err)
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

// PrintManifests prints objects as YAML documents.
func PrintManifests(out io.Writer, objs ...runtime.Object) error {
	for i, obj := range objs {
		m, err := manifest(obj)
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := io.WriteString(out, "---\n"); err != nil {
				return err
			}
		}
		if err := PrintObject(out, OutputYAML, m.Object); err != nil {
			return err
		}
	}
	return nil
}

// InstancetypeMeta returns the type and object metadata of a new instance type or preference.
func InstancetypeMeta(kind, name string) (metav1.TypeMeta, metav1.ObjectMeta) {
	return metav1.TypeMeta{APIVersion: itv1alpha1.SchemeGroupVersion.String(), Kind: kind}, metav1.ObjectMeta{Name: name}
}

// SplitDocuments splits YAML or JSON text into documents, and lists into items.
func SplitDocuments(data []byte) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	for i, doc := range bytes.Split(append([]byte("\n"), data...), []byte("\n---")) {
		if strings.TrimSpace(string(doc)) == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if string(raw) == "null" {
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, &obj.Object); err != nil {
			return nil, fmt.Errorf("document %d is not an object: %w", i+1, err)
		}
		if !obj.IsList() {
			objs = append(objs, obj)
			continue
		}
		if err := obj.EachListItem(func(item runtime.Object) error {
			objs = append(objs, item.(*unstructured.Unstructured))
			return nil
		}); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return objs, nil
}
