// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedeployment describes the resource machinedeployments.
package machinedeployment

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes machinedeployments.
func Kind() standard.Kind[*clusterv1alpha1.MachineDeployment] {
	type deployment = *clusterv1alpha1.MachineDeployment
	return standard.Kind[deployment]{
		Plural:     clusterv1alpha1.Resource("machinedeployments"),
		Singular:   clusterv1alpha1.Resource("machinedeployment"),
		Version:    clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"md", "smd"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() deployment { return &clusterv1alpha1.MachineDeployment{} },
		NewList:    func() runtime.Object { return &clusterv1alpha1.MachineDeploymentList{} },
		Spec:       func(d deployment) any { return &d.Spec },
		Status: &standard.Status[deployment]{
			Drop: func(d deployment) {
				d.Status = clusterv1alpha1.MachineDeploymentStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(d, stored deployment) { d.Status = stored.Status },
			KeepSpec: func(d, stored deployment) { d.Spec = stored.Spec },
			Validate: validation.ValidateMachineDeploymentStatusUpdate,
		},
		Scale: &standard.Scale[deployment]{
			Desired:  func(d deployment) **int32 { return &d.Spec.Replicas },
			Observed: func(d deployment) *int32 { return d.Status.Replicas },
			Selector: func(d deployment) (labels.Selector, error) {
				return metav1.LabelSelectorAsSelector(&d.Spec.Selector)
			},
		},
		PrepareForCreate: func(d deployment) { fill(d, nil) },
		PrepareForUpdate: func(d, stored deployment) {
			filling.KeepOrphanFinalizer(&d.ObjectMeta, &stored.ObjectMeta)
			fill(d, stored.Spec.Replicas)
		},
		Validate:       validation.ValidateMachineDeployment,
		ValidateUpdate: validation.ValidateMachineDeploymentUpdate,
		Table:          newTable(),
		GetAttrs:       standard.Attrs(map[string]func(deployment) string{"spec.clusterName": func(d deployment) string { return d.Spec.ClusterName }}),
	}
}

// fill sets defaults of a deployment. An empty selector selects a label with the deployment's name. Every selector
// also selects the cluster name label.
func fill(d *clusterv1alpha1.MachineDeployment, stored *int32) {
	filling.SetClusterLabel(&d.ObjectMeta, d.Spec.ClusterName)
	filling.SetReplicas(&d.Spec.Replicas, d.Annotations, stored)
	filling.AddVersionPrefix(&d.Spec.Template.Spec.Version)
	selector, made := &d.Spec.Selector, &d.Spec.Template.Metadata
	if filling.IsEmpty(selector) && d.Name != "" {
		filling.SetLabel(selector, made, clusterv1alpha1.MachineDeploymentNameLabel, d.Name)
	}
	if d.Spec.ClusterName != "" {
		filling.SetLabel(selector, made, clusterv1alpha1.ClusterNameLabel, d.Spec.ClusterName)
	}
	strategy := &d.Spec.Rollout.Strategy
	if strategy.Type == "" {
		strategy.Type = clusterv1alpha1.RollingUpdateMachineDeploymentStrategyType
	}
	if strategy.Type != clusterv1alpha1.RollingUpdateMachineDeploymentStrategyType {
		return
	}
	if rolling := &strategy.RollingUpdate; rolling.MaxSurge == nil {
		one := intstr.FromInt32(1)
		rolling.MaxSurge = &one
	}
	if rolling := &strategy.RollingUpdate; rolling.MaxUnavailable == nil {
		none := intstr.FromInt32(0)
		rolling.MaxUnavailable = &none
	}
}

func newTable() *table.Convertor[*clusterv1alpha1.MachineDeployment] {
	type deployment = *clusterv1alpha1.MachineDeployment
	type column = table.Column[deployment]
	return table.New(
		column{Name: "Cluster", Type: "string", Description: "Cluster that the machines belong to.",
			Value: func(d deployment) any { return d.Spec.ClusterName }},
		column{Name: "Available", Type: "string", Description: "Whether enough machines are available.",
			Value: func(d deployment) any {
				return table.Status(d.Status.Conditions, clusterv1alpha1.AvailableCondition)
			}},
		column{Name: "Desired", Type: "integer", Description: "Desired number of machines.",
			Value: func(d deployment) any { return table.Number(d.Spec.Replicas) }},
		column{Name: "Current", Type: "integer", Description: "Current number of machines.",
			Value: func(d deployment) any { return table.Number(d.Status.Replicas) }},
		column{Name: "Ready", Type: "integer", Description: "Number of machines that are ready.",
			Value: func(d deployment) any { return table.Number(d.Status.ReadyReplicas) }},
		column{Name: "Available", Type: "integer", Description: "Number of machines that are available.",
			Value: func(d deployment) any { return table.Number(d.Status.AvailableReplicas) }},
		column{Name: "Up-to-date", Type: "integer", Description: "Number of machines that match the template.",
			Value: func(d deployment) any { return table.Number(d.Status.UpToDateReplicas) }},
		column{Name: "Phase", Type: "string", Description: "Phase of the deployment.",
			Value: func(d deployment) any { return string(d.Status.Phase) }},
		column{Name: "Version", Type: "string", Description: "Kubernetes version of new machines.",
			Value: func(d deployment) any { return d.Spec.Template.Spec.Version }},
		column{Name: "Paused", Type: "string", Wide: true, Description: "Whether reconciliation is paused.",
			Value: func(d deployment) any { return table.Status(d.Status.Conditions, clusterv1alpha1.PausedCondition) }},
	)
}
