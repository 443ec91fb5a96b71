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

// metav1Types is the package of what every version has.
var metav1Types = reflect.TypeFor[metav1.ListOptions]().PkgPath()

// addHub makes the types of version the form that the server works with, too. The
// machinery of the API server goes from every version to every other by way of one
// that it calls internal; as long as a group has one version, that is the same Go
// types, and going there costs nothing. A second version converts from and to the hub.
func addHub(s *runtime.Scheme, version schema.GroupVersion) {
	hub := schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}
	for kind, t := range s.KnownTypes(version) {
		gvk := hub.WithKind(kind)
		if t.PkgPath() == metav1Types {
			continue // options and watch events, which every version has
		}
		obj := reflect.New(t).Interface().(runtime.Object)
		s.AddKnownTypeWithName(gvk, obj)
		// Who converts into an object of his own, as admission does, asks for this even
		// between equal types. Like every conversion the result shares memory.
		utilruntime.Must(s.AddConversionFunc(obj, obj, func(from, to any, _ conversion.Scope) error {
			reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
			return nil
		}))
	}
	utilruntime.Must(s.SetVersionPriority(version))
}
