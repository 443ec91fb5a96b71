// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of cluster.slipway.dev to their storages.
package rest

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedrainrule"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinehealthcheck"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// NewAPIGroupInfo makes the storages of the group.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter) (*genericapiserver.APIGroupInfo, error) {
	all := map[string]rest.Storage{}
	if err := errors.Join(
		add(all, opts, cluster.Kind()),
		add(all, opts, machine.Kind()),
		add(all, opts, machineset.Kind()),
		add(all, opts, machinedeployment.Kind()),
		add(all, opts, machinehealthcheck.Kind()),
		add(all, opts, machinedrainrule.Kind()),
	); err != nil {
		return nil, err
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(clusterv1alpha1.GroupName, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.NegotiatedSerializer = scheme.Requests
	info.VersionedResourcesStorageMap["v1alpha1"] = all
	return &info, nil
}

// add makes the storages of a kind.
func add[T runtime.Object](all map[string]rest.Storage, opts generic.RESTOptionsGetter, kind standard.Kind[T]) error {
	main, status, err := standard.NewREST(opts, scheme.Scheme, kind)
	if err != nil {
		return err
	}
	name := kind.Plural.Resource
	all[name] = main
	if status != nil {
		all[name+"/status"] = status
	}
	if kind.Scale != nil {
		all[name+"/scale"] = standard.NewScaleREST(main, kind)
	}
	return nil
}
