// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster describes the resource clusters.
//
// Guarantee: creation sets the finalizer. A client that replaces a cluster by a manifest does not remove it.
package cluster

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/cluster/validation"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes clusters.
func Kind() standard.Kind[*clusterv1alpha1.Cluster] {
	type cluster = *clusterv1alpha1.Cluster
	type column = table.Column[cluster]
	return standard.Kind[cluster]{
		Plural:     clusterv1alpha1.Resource("clusters"),
		Singular:   clusterv1alpha1.Resource("cluster"),
		Version:    clusterv1alpha1.SchemeGroupVersion.String(),
		Namespaced: true,
		ShortNames: []string{"cl", "scl"},
		Categories: []string{"slipway", "cluster-api"},
		New:        func() cluster { return &clusterv1alpha1.Cluster{} },
		NewList:    func() runtime.Object { return &clusterv1alpha1.ClusterList{} },
		Spec:       func(c cluster) any { return &c.Spec },
		Status: &standard.Status[cluster]{
			Drop: func(c cluster) {
				c.Status = clusterv1alpha1.ClusterStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(c, stored cluster) { c.Status = stored.Status },
			KeepSpec: func(c, stored cluster) { c.Spec = stored.Spec },
			Validate: validation.ValidateClusterStatusUpdate,
		},
		PrepareForCreate: func(c cluster) { filling.AddFinalizer(&c.ObjectMeta, clusterv1alpha1.ClusterFinalizer) },
		PrepareForUpdate: func(c, stored cluster) {
			filling.KeepFinalizer(&c.ObjectMeta, &stored.ObjectMeta, clusterv1alpha1.ClusterFinalizer)
		},
		Validate:       validation.ValidateCluster,
		ValidateUpdate: validation.ValidateClusterUpdate,
		Table: table.New(
			column{Name: "Available", Type: "string", Description: "Whether the cluster is available.",
				Value: func(c cluster) any {
					return table.Status(c.Status.Conditions, clusterv1alpha1.AvailableCondition)
				}},
			column{Name: "Phase", Type: "string", Description: "Phase of the cluster.",
				Value: func(c cluster) any { return string(c.Status.Phase) }},
			column{Name: "Endpoint", Type: "string", Wide: true, Description: "Address of the cluster's API server.", Value: endpoint},
			column{Name: "Paused", Type: "string", Wide: true, Description: "Whether reconciliation of the cluster and its objects is paused.",
				Value: func(c cluster) any { return table.Status(c.Status.Conditions, clusterv1alpha1.PausedCondition) }},
		),
	}
}

func endpoint(c *clusterv1alpha1.Cluster) any {
	e := c.Spec.ControlPlaneEndpoint
	if e.IsZero() {
		return nil
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
