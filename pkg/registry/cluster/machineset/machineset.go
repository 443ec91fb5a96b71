// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineset describes the resource machinesets.
package machineset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes machinesets.
func Kind() standard.Kind[*clusterv1alpha1.MachineSet] {
	type set = *clusterv1alpha1.MachineSet
	return standard.Kind[set]{
		Plural:     clusterv1alpha1.Resource("machinesets"),
		Singular:   clusterv1alpha1.Resource("machineset"),
		Version:    clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"ms", "sms"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() set { return &clusterv1alpha1.MachineSet{} },
		NewList:    func() runtime.Object { return &clusterv1alpha1.MachineSetList{} },
		Spec:       func(s set) any { return &s.Spec },
		Status: &standard.Status[set]{
			Drop: func(s set) {
				s.Status = clusterv1alpha1.MachineSetStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(s, stored set) { s.Status = stored.Status },
			KeepSpec: func(s, stored set) { s.Spec = stored.Spec },
			Validate: validation.ValidateMachineSetStatusUpdate,
		},
		Scale: &standard.Scale[set]{
			Desired:  func(s set) **int32 { return &s.Spec.Replicas },
			Observed: func(s set) *int32 { return s.Status.Replicas },
			Selector: func(s set) (labels.Selector, error) { return metav1.LabelSelectorAsSelector(&s.Spec.Selector) },
		},
		PrepareForCreate: func(s set) { fill(s, nil) },
		PrepareForUpdate: func(s, stored set) {
			filling.KeepOrphanFinalizer(&s.ObjectMeta, &stored.ObjectMeta)
			fill(s, stored.Spec.Replicas)
		},
		Validate:       validation.ValidateMachineSet,
		ValidateUpdate: validation.ValidateMachineSetUpdate,
		Table:          newTable(),
		GetAttrs:       standard.Attrs(map[string]func(set) string{"spec.clusterName": func(s set) string { return s.Spec.ClusterName }}),
	}
}

// fill sets defaults of a MachineSet. An empty selector selects a label with its name.
func fill(s *clusterv1alpha1.MachineSet, stored *int32) {
	filling.SetClusterLabel(&s.ObjectMeta, s.Spec.ClusterName)
	filling.SetReplicas(&s.Spec.Replicas, s.Annotations, stored)
	filling.AddVersionPrefix(&s.Spec.Template.Spec.Version)
	if filling.IsEmpty(&s.Spec.Selector) && s.Name != "" {
		filling.SetLabel(&s.Spec.Selector, &s.Spec.Template.Metadata, clusterv1alpha1.MachineSetNameLabel, clusterv1alpha1.LabelValue(s.Name))
	}
}

func newTable() *table.Convertor[*clusterv1alpha1.MachineSet] {
	type set = *clusterv1alpha1.MachineSet
	type column = table.Column[set]
	return table.New(
		column{Name: "Cluster", Type: "string", Description: "Cluster that the machines belong to.",
			Value: func(s set) any { return s.Spec.ClusterName }},
		column{Name: "Desired", Type: "integer", Description: "Desired number of machines.",
			Value: func(s set) any { return table.Number(s.Spec.Replicas) }},
		column{Name: "Current", Type: "integer", Description: "Current number of machines.",
			Value: func(s set) any { return table.Number(s.Status.Replicas) }},
		column{Name: "Ready", Type: "integer", Description: "Number of machines that are ready.",
			Value: func(s set) any { return table.Number(s.Status.ReadyReplicas) }},
		column{Name: "Available", Type: "integer", Description: "Number of machines that are available.",
			Value: func(s set) any { return table.Number(s.Status.AvailableReplicas) }},
		column{Name: "Up-to-date", Type: "integer", Description: "Number of machines that match the template.",
			Value: func(s set) any { return table.Number(s.Status.UpToDateReplicas) }},
		column{Name: "Version", Type: "string", Description: "Kubernetes version of new machines.",
			Value: func(s set) any { return s.Spec.Template.Spec.Version }},
		column{Name: "Paused", Type: "string", Wide: true, Description: "Whether reconciliation is paused.",
			Value: func(s set) any { return table.Status(s.Status.Conditions, clusterv1alpha1.PausedCondition) }},
	)
}
