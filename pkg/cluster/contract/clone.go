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

// Identity says what an object of a template is to be called, and what it is given besides what
// the template gives it.
type Identity struct {
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Owner, if there is one, is the only owner of the object.
	Owner *metav1.OwnerReference
}

// Clone makes an object of template, which it does not change. Of the metadata of the template's
// objects labels and annotations are taken; those of n come before them.
func Clone(template *object, n Identity) (*object, error) {
	kind := clusterv1alpha1.MadeKind(template.GetKind())
	if kind == template.GetKind() || kind == "" {
		return nil, fmt.Errorf("%s %s/%s is no template: its kind does not end in %s", template.GetKind(), template.GetNamespace(), template.GetName(), clusterv1alpha1.TemplateSuffix)
	}
	path := []string{"spec", "template"}
	from, _, err := unstructured.NestedMap(template.Object, path...)
	if err != nil {
		return nil, fault(template, path, "%v", err)
	}
	if from == nil {
		from = map[string]any{}
	}
	made := &object{Object: from}
	labels, annotations, err := given(template)
	if err != nil {
		return nil, err
	}
	delete(from, "metadata")
	delete(from, "status")
	made.SetAPIVersion(template.GetAPIVersion())
	made.SetKind(kind)
	made.SetNamespace(n.Namespace)
	made.SetName(n.Name)
	maps.Copy(labels, n.Labels)
	maps.Copy(annotations, n.Annotations)
	annotations[clusterv1alpha1.TemplateClonedFromNameAnnotation] = template.GetName()
	annotations[clusterv1alpha1.TemplateClonedFromGroupKindAnnotation] = template.GroupVersionKind().GroupKind().String()
	if len(labels) > 0 {
		made.SetLabels(labels)
	}
	made.SetAnnotations(annotations)
	if n.Owner != nil {
		made.SetOwnerReferences([]metav1.OwnerReference{*n.Owner})
	}
	return made, nil
}

// given are the labels and annotations that a template gives its objects.
func given(template *object) (labels, annotations map[string]string, err error) {
	for field, to := range map[string]*map[string]string{"labels": &labels, "annotations": &annotations} {
		path := []string{"spec", "template", "metadata", field}
		*to, _, err = unstructured.NestedStringMap(template.Object, path...)
		if err != nil {
			return nil, nil, fault(template, path, "%v", err)
		}
		if *to == nil {
			*to = map[string]string{}
		}
	}
	return labels, annotations, nil
}
