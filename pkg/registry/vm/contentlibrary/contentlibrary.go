// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contentlibrary describes the resource contentlibraries.
package contentlibrary

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes contentlibraries.
func Kind() standard.Kind[*vmv1alpha1.ContentLibrary] {
	type library = *vmv1alpha1.ContentLibrary
	type column = table.Column[library]
	return standard.Kind[library]{
		Plural:     vmv1alpha1.Resource("contentlibraries"),
		Singular:   vmv1alpha1.Resource("contentlibrary"),
		ShortNames: []string{"clib", "clibs", "sclib", "sclibs"},
		Version:    "vm.slipway.dev/v1alpha1",
		Categories: []string{"slipway"},
		New:        func() library { return &vmv1alpha1.ContentLibrary{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.ContentLibraryList{} },
		Spec:       func(l library) any { return l.Spec },
		Status: &standard.Status[library]{
			Drop: func(l library) {
				l.Status = vmv1alpha1.ContentLibraryStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(l, stored library) { l.Status = stored.Status },
			KeepSpec: func(l, stored library) { l.Spec = stored.Spec },
			Validate: validation.ValidateContentLibraryStatusUpdate,
		},
		Validate:       validation.ValidateContentLibrary,
		ValidateUpdate: validation.ValidateContentLibraryUpdate,
		Table: table.New(
			column{Name: "Library", Type: "string", Description: "Name of the content library in vSphere.", Value: func(l library) any { return l.Spec.Library }},
			column{Name: "Namespace", Type: "string", Description: "Namespace of the images; empty for cluster-scoped images.", Value: func(l library) any { return l.Spec.Namespace }},
			column{Name: "Ready", Type: "string", Description: "True if the items have been read and have images; otherwise the reason.", Value: ready},
			column{Name: "Items", Type: "integer", Description: "Number of items in vSphere.", Value: func(l library) any { return int64(l.Status.Items) }},
			column{Name: "Images", Type: "integer", Description: "Number of images created for the items.", Value: func(l library) any { return int64(l.Status.Images) }},
			column{Name: "Kept", Type: "integer", Wide: true, Description: "Number of images that are kept without an item because virtual machines refer to them.", Value: func(l library) any { return int64(len(l.Status.Kept)) }},
			column{Name: "Renamed", Type: "integer", Wide: true, Description: "Number of images that were renamed because their name was in use.", Value: func(l library) any { return int64(len(l.Status.Renamed)) }},
		),
	}
}

// ready returns True or the reason why the library is not ready.
func ready(l *vmv1alpha1.ContentLibrary) any {
	return conditions.ColumnValue(l.Status.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady)
}
