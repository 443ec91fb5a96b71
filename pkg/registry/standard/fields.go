// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Attrs returns a function that provides labels, name, namespace and the given fields of namespaced objects for
// selectors.
func Attrs[T runtime.Object](values map[string]func(T) string) storage.AttrFunc {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		o, ok := obj.(T)
		if !ok {
			var want T
			return nil, nil, fmt.Errorf("reading the fields of a %T: got a %T", want, obj)
		}
		m := metaOf(o)
		set := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
		for name, value := range values {
			set[name] = value(o)
		}
		return m.GetLabels(), set, nil
	}
}
