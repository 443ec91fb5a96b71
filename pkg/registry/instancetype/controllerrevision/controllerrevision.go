// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerrevision describes the resource controllerrevisions, which are the revisions of instance types
// and preferences that virtual machines have pinned.
//
// Guarantee: the content of a revision never changes.
package controllerrevision

import (
	"k8s.io/apimachinery/pkg/runtime"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes controllerrevisions.
func Kind() standard.Kind[*itv1alpha1.ControllerRevision] {
	return standard.Kind[*itv1alpha1.ControllerRevision]{
		Plural:     itv1alpha1.Resource("controllerrevisions"),
		Singular:   itv1alpha1.Resource("controllerrevision"),
		Version:    itv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		// kubectl resolves the full name to the kind of the group apps.
		ShortNames: []string{"vmrevision", "vmrevisions", "vmrev", "vmrevs", "svmrev", "svmrevs"},
		Categories: []string{"slipway"},
		New:        func() *itv1alpha1.ControllerRevision { return &itv1alpha1.ControllerRevision{} },
		NewList:    func() runtime.Object { return &itv1alpha1.ControllerRevisionList{} },
		// A revision is immutable, so its generation does not change.
		Spec:           func(*itv1alpha1.ControllerRevision) any { return nil },
		Derived:        true,
		Validate:       validation.ValidateControllerRevision,
		ValidateUpdate: validation.ValidateControllerRevisionUpdate,
		Table: table.New(
			column("Source kind", "Kind of the pinned object.", instancetype.LabelObjectKind),
			column("Source name", "Name of the pinned object.", instancetype.LabelObjectName),
			table.Column[*itv1alpha1.ControllerRevision]{Name: "Generation", Type: "integer", Description: "Generation of the pinned object.",
				Value: func(o *itv1alpha1.ControllerRevision) any { return o.Revision }},
		),
	}
}

func column(name, description, label string) table.Column[*itv1alpha1.ControllerRevision] {
	return table.Column[*itv1alpha1.ControllerRevision]{Name: name, Type: "string", Description: description,
		Value: func(o *itv1alpha1.ControllerRevision) any { return o.Labels[label] }}
}
