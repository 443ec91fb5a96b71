// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of instancetype.slipway.dev to their storages.
package rest

import (
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/controllerrevision"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/preference"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Stores are the storages that others read from.
type Stores struct {
	Instancetypes, ClusterInstancetypes *standard.REST
	Preferences, ClusterPreferences     *standard.REST
	Revisions                           *standard.REST
}

// NewAPIGroupInfo makes the storages of the group.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter) (*genericapiserver.APIGroupInfo, *Stores, error) {
	var stores Stores
	var err error
	if stores.Instancetypes, _, err = standard.NewREST(opts, scheme.Scheme, instancetype.Namespaced()); err != nil {
		return nil, nil, err
	}
	if stores.ClusterInstancetypes, _, err = standard.NewREST(opts, scheme.Scheme, instancetype.Cluster()); err != nil {
		return nil, nil, err
	}
	if stores.Preferences, _, err = standard.NewREST(opts, scheme.Scheme, preference.Namespaced()); err != nil {
		return nil, nil, err
	}
	if stores.ClusterPreferences, _, err = standard.NewREST(opts, scheme.Scheme, preference.Cluster()); err != nil {
		return nil, nil, err
	}
	if stores.Revisions, _, err = standard.NewREST(opts, scheme.Scheme, controllerrevision.Kind()); err != nil {
		return nil, nil, err
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(itv1alpha1.GroupName, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.NegotiatedSerializer = scheme.Requests
	info.VersionedResourcesStorageMap["v1alpha1"] = map[string]rest.Storage{
		"virtualmachineinstancetypes":        stores.Instancetypes,
		"virtualmachineclusterinstancetypes": stores.ClusterInstancetypes,
		"virtualmachinepreferences":          stores.Preferences,
		"virtualmachineclusterpreferences":   stores.ClusterPreferences,
		"controllerrevisions":                stores.Revisions,
	}
	return &info, &stores, nil
}
