// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slipwaycluster describes the resource slipwayclusters.
package slipwaycluster

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes slipwayclusters.
func Kind() standard.Kind[*vmv1alpha1.SlipwayCluster] {
	type cluster = *vmv1alpha1.SlipwayCluster
	type column = table.Column[cluster]
	return standard.Kind[cluster]{
		Plural:     vmv1alpha1.Resource("slipwayclusters"),
		Singular:   vmv1alpha1.Resource("slipwaycluster"),
		Version:    vmv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"slc", "slcs"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() cluster { return &vmv1alpha1.SlipwayCluster{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.SlipwayClusterList{} },
		Spec:       func(c cluster) any { return &c.Spec },
		Status: &standard.Status[cluster]{
			Drop: func(c cluster) {
				c.Status = vmv1alpha1.SlipwayClusterStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(c, stored cluster) { c.Status = stored.Status },
			KeepSpec: func(c, stored cluster) { c.Spec = stored.Spec },
			Validate: validation.ValidateSlipwayClusterStatusUpdate,
		},
		Validate:       validation.ValidateSlipwayCluster,
		ValidateUpdate: validation.ValidateSlipwayClusterUpdate,
		Table: table.New(
			column{Name: "Ready", Type: "string", Description: "True if the cluster is provisioned; otherwise the reason.",
				Value: func(c cluster) any { return conditions.ColumnValue(c.Status.Conditions, vmv1alpha1.ConditionReady) }},
			column{Name: "Endpoint", Type: "string", Description: "Address of the cluster's API server.", Value: endpoint},
			column{Name: "Zones", Type: "integer", Description: "Number of zones for machines.",
				Value: func(c cluster) any { return int64(len(c.Status.FailureDomains)) }},
		),
	}
}

func endpoint(c *vmv1alpha1.SlipwayCluster) any {
	e := c.Spec.ControlPlaneEndpoint
	if e.IsZero() {
		return nil
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
