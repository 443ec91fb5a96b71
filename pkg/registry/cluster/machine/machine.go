// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine describes the resource machines.
//
// Guarantees:
//   - Creation sets the finalizer, the cluster name label and the timeout for deleting the Node, so that controllers
//     need no additional write.
//   - A client that replaces a machine by a manifest does not remove them.
package machine

import (
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Kind describes machines.
func Kind() standard.Kind[*clusterv1alpha1.Machine] {
	type machine = *clusterv1alpha1.Machine
	return standard.Kind[machine]{
		Plural:     clusterv1alpha1.Resource("machines"),
		Singular:   clusterv1alpha1.Resource("machine"),
		Version:    clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"ma", "sma"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() machine { return &clusterv1alpha1.Machine{} },
		NewList:    func() runtime.Object { return &clusterv1alpha1.MachineList{} },
		Spec:       func(m machine) any { return &m.Spec },
		Status: &standard.Status[machine]{
			Drop: func(m machine) {
				m.Status = clusterv1alpha1.MachineStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(m, stored machine) { m.Status = stored.Status },
			KeepSpec: func(m, stored machine) { m.Spec = stored.Spec },
			Validate: validation.ValidateMachineStatusUpdate,
		},
		PrepareForCreate: func(m machine) { filling.AddFinalizer(&m.ObjectMeta, clusterv1alpha1.MachineFinalizer); fill(m) },
		PrepareForUpdate: func(m, stored machine) {
			filling.KeepFinalizer(&m.ObjectMeta, &stored.ObjectMeta, clusterv1alpha1.MachineFinalizer)
			fill(m)
		},
		Validate:       validation.ValidateMachine,
		ValidateUpdate: validation.ValidateMachineUpdate,
		Table:          newTable(),
		GetAttrs:       standard.Attrs(selectable),
		IndexFields:    selectable,
	}
}

func fill(m *clusterv1alpha1.Machine) {
	filling.SetClusterLabel(&m.ObjectMeta, m.Spec.ClusterName)
	filling.AddVersionPrefix(&m.Spec.Version)
	filling.SetDefault(&m.Spec.Deletion.NodeDeletionTimeoutSeconds, clusterv1alpha1.DefaultNodeDeletionTimeoutSeconds)
}
