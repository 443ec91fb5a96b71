// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// metav1Types is the package path of the types that every version has.
var metav1Types = reflect.TypeFor[metav1.ListOptions]().PkgPath()

// addHub registers the types of version also as the internal version, which the API server machinery uses to convert
// between versions. As long as a group has one version, both are the same Go types, and the conversion is free. A
// second version must convert from and to the internal version.
func addHub(s *runtime.Scheme, version schema.GroupVersion) {
	hub := schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}
	for kind, t := range s.KnownTypes(version) {
		gvk := hub.WithKind(kind)
		if t.PkgPath() == metav1Types {
			continue // options and watch events
		}
		obj := reflect.New(t).Interface().(runtime.Object)
		s.AddKnownTypeWithName(gvk, obj)
		// Admission converts into an existing object and requires a conversion function even between equal types. The
		// result shares memory with the source, as with every conversion.
		utilruntime.Must(s.AddConversionFunc(obj, obj, func(from, to any, _ conversion.Scope) error {
			reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
			return nil
		}))
	}
	utilruntime.Must(s.SetVersionPriority(version))
}
