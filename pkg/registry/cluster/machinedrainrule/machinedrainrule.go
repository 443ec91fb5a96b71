// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedrainrule describes the resource machinedrainrules.
package machinedrainrule

import (
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes machinedrainrules.
func Kind() standard.Kind[*clusterv1alpha1.MachineDrainRule] {
	type rule = *clusterv1alpha1.MachineDrainRule
	type column = table.Column[rule]
	return standard.Kind[rule]{
		Plural:         clusterv1alpha1.Resource("machinedrainrules"),
		Singular:       clusterv1alpha1.Resource("machinedrainrule"),
		Version:        clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced:     true,
		ShortNames:     []string{"mdr", "smdr"},
		Categories:     []string{"slipway", "cluster-api"},
		New:            func() rule { return &clusterv1alpha1.MachineDrainRule{} },
		NewList:        func() runtime.Object { return &clusterv1alpha1.MachineDrainRuleList{} },
		Spec:           func(r rule) any { return &r.Spec },
		Validate:       validation.ValidateMachineDrainRule,
		ValidateUpdate: validation.ValidateMachineDrainRuleUpdate,
		Table: table.New(
			column{Name: "Behavior", Type: "string", Description: "How the selected Pods are drained.",
				Value: func(r rule) any { return string(r.Spec.Drain.Behavior) }},
			column{Name: "Order", Type: "integer", Description: "Order in which Pods are drained, lowest first.",
				Value: func(r rule) any { return table.Number(r.Spec.Drain.Order) }},
		),
	}
}
