// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of cluster.slipway.dev to their storages.
package rest

import (
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedrainrule"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinehealthcheck"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// NewAPIGroupInfo creates the storages of the group. maxMachines is the maximum number of Machines in a namespace.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter, maxMachines int) (*genericapiserver.APIGroupInfo, error) {
	g := standard.NewGroup(opts)
	standard.Add(g, cluster.Kind())
	if machines := standard.Add(g, machine.Kind()); machines != nil {
		machine.Limit(machines, maxMachines)
	}
	standard.Add(g, machineset.Kind())
	standard.Add(g, machinedeployment.Kind())
	standard.Add(g, machinehealthcheck.Kind())
	standard.Add(g, machinedrainrule.Kind())
	return g.Info(clusterv1alpha1.SchemeGroupVersion)
}
