// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinehealthcheck describes the resource machinehealthchecks.
package machinehealthcheck

import (
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes machinehealthchecks.
func Kind() standard.Kind[*clusterv1alpha1.MachineHealthCheck] {
	type check = *clusterv1alpha1.MachineHealthCheck
	type column = table.Column[check]
	fill := func(c check) {
		filling.SetClusterLabel(&c.ObjectMeta, c.Spec.ClusterName)
		filling.SetDefault(&c.Spec.Checks.NodeStartupTimeoutSeconds, clusterv1alpha1.DefaultNodeStartupTimeoutSeconds)
	}
	return standard.Kind[check]{
		Plural:     clusterv1alpha1.Resource("machinehealthchecks"),
		Singular:   clusterv1alpha1.Resource("machinehealthcheck"),
		Version:    clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"mhc", "mhcs", "smhc", "smhcs"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() check { return &clusterv1alpha1.MachineHealthCheck{} },
		NewList:    func() runtime.Object { return &clusterv1alpha1.MachineHealthCheckList{} },
		Spec:       func(c check) any { return &c.Spec },
		Status: &standard.Status[check]{
			Drop: func(c check) {
				c.Status = clusterv1alpha1.MachineHealthCheckStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(c, stored check) { c.Status = stored.Status },
			KeepSpec: func(c, stored check) { c.Spec = stored.Spec },
			Validate: validation.ValidateMachineHealthCheckStatusUpdate,
		},
		PrepareForCreate: fill,
		PrepareForUpdate: func(c, _ check) { fill(c) },
		Validate:         validation.ValidateMachineHealthCheck,
		ValidateUpdate:   validation.ValidateMachineHealthCheckUpdate,
		Table: table.New(
			column{Name: "Cluster", Type: "string", Description: "Cluster that the machines belong to.",
				Value: func(c check) any { return c.Spec.ClusterName }},
			column{Name: "Replicas", Type: "integer", Description: "Number of machines that are checked.",
				Value: func(c check) any { return table.Number(c.Status.ExpectedMachines) }},
			column{Name: "Healthy", Type: "integer", Description: "Number of machines that are healthy.",
				Value: func(c check) any { return table.Number(c.Status.CurrentHealthy) }},
			column{Name: "Paused", Type: "string", Wide: true, Description: "Whether reconciliation is paused.",
				Value: func(c check) any { return table.Status(c.Status.Conditions, clusterv1alpha1.PausedCondition) }},
		),
		GetAttrs: standard.Attrs(map[string]func(check) string{"spec.clusterName": func(c check) string { return c.Spec.ClusterName }}),
	}
}
