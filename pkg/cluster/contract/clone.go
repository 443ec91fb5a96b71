// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// ObjectMetadata is the metadata of an object that Clone creates.
type ObjectMetadata struct {
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Owner is the only owner of the object. It may be nil.
	Owner *metav1.OwnerReference
}

// Clone returns the object that template describes. It does not change template. Labels and annotations of n override
// those of the template.
func Clone(template *object, n ObjectMetadata) (*object, error) {
	kind := clusterv1alpha1.KindFromTemplate(template.GetKind())
	if kind == template.GetKind() || kind == "" {
		return nil, fmt.Errorf("%s %s/%s is not a template: its kind does not end in %s", template.GetKind(), template.GetNamespace(), template.GetName(), clusterv1alpha1.TemplateSuffix)
	}
	path := []string{"spec", "template"}
	content, _, err := unstructured.NestedMap(template.Object, path...)
	if err != nil {
		return nil, fieldError(template, path, "%v", err)
	}
	if content == nil {
		content = map[string]any{}
	}
	created := &object{Object: content}
	labels, annotations, err := templateMetadata(template)
	if err != nil {
		return nil, err
	}
	delete(content, "metadata")
	delete(content, "status")
	created.SetAPIVersion(template.GetAPIVersion())
	created.SetKind(kind)
	created.SetNamespace(n.Namespace)
	created.SetName(n.Name)
	maps.Copy(labels, n.Labels)
	maps.Copy(annotations, n.Annotations)
	annotations[clusterv1alpha1.TemplateClonedFromNameAnnotation] = template.GetName()
	annotations[clusterv1alpha1.TemplateClonedFromGroupKindAnnotation] = template.GroupVersionKind().GroupKind().String()
	if len(labels) > 0 {
		created.SetLabels(labels)
	}
	created.SetAnnotations(annotations)
	if n.Owner != nil {
		created.SetOwnerReferences([]metav1.OwnerReference{*n.Owner})
	}
	return created, nil
}

// templateMetadata returns the labels and annotations that a template sets on its objects.
func templateMetadata(template *object) (labels, annotations map[string]string, err error) {
	for field, to := range map[string]*map[string]string{"labels": &labels, "annotations": &annotations} {
		path := []string{"spec", "template", "metadata", field}
		*to, _, err = unstructured.NestedStringMap(template.Object, path...)
		if err != nil {
			return nil, nil, fieldError(template, path, "%v", err)
		}
		if *to == nil {
			*to = map[string]string{}
		}
	}
	return labels, annotations, nil
}
