// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of instancetype.slipway.dev to their storages.
package rest

import (
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/controllerrevision"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/preference"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Stores are the storages that other packages read from.
type Stores struct {
	Instancetypes, ClusterInstancetypes *standard.REST
	Preferences, ClusterPreferences     *standard.REST
	Revisions                           *standard.REST
}

// NewAPIGroupInfo creates the storages of the group.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter) (*genericapiserver.APIGroupInfo, *Stores, error) {
	g := standard.NewGroup(opts)
	stores := &Stores{
		Instancetypes:        standard.Add(g, instancetype.Namespaced()),
		ClusterInstancetypes: standard.Add(g, instancetype.Cluster()),
		Preferences:          standard.Add(g, preference.Namespaced()),
		ClusterPreferences:   standard.Add(g, preference.Cluster()),
		Revisions:            standard.Add(g, controllerrevision.Kind()),
	}
	info, err := g.Info(itv1alpha1.SchemeGroupVersion)
	return info, stores, err
}
