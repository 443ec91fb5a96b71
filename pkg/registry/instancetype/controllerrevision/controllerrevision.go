// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerrevision describes the resource controllerrevisions: instance types
// and preferences as virtual machines captured them.
//
// Guarantee: what a revision holds never changes.
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
		// The full name is that of a kind of the group apps too, which kubectl takes first.
		ShortNames: []string{"vmrevision", "vmrevisions", "vmrev", "vmrevs"},
		Categories: []string{"slipway"},
		New:        func() *itv1alpha1.ControllerRevision { return &itv1alpha1.ControllerRevision{} },
		NewList:    func() runtime.Object { return &itv1alpha1.ControllerRevisionList{} },
		// Nothing of it can change, so that there is nothing to count.
		Spec:           func(*itv1alpha1.ControllerRevision) any { return nil },
		Derived:        true,
		Validate:       validation.ValidateControllerRevision,
		ValidateUpdate: validation.ValidateControllerRevisionUpdate,
		Table: table.New(
			column("Captured kind", "Kind of what was captured.", instancetype.LabelObjectKind),
			column("Captured name", "Name of what was captured.", instancetype.LabelObjectName),
			table.Column[*itv1alpha1.ControllerRevision]{Name: "Generation", Type: "integer", Description: "Generation of what was captured.",
				Value: func(o *itv1alpha1.ControllerRevision) any { return o.Revision }},
		),
	}
}

func column(name, description, label string) table.Column[*itv1alpha1.ControllerRevision] {
	return table.Column[*itv1alpha1.ControllerRevision]{Name: name, Type: "string", Description: description,
		Value: func(o *itv1alpha1.ControllerRevision) any { return o.Labels[label] }}
}
