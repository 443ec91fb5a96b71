// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of vm.slipway.dev to their storages.
//
// Guarantee: every endpoint of a resource is over one store.
package rest

import (
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
)

// Stores are the storages that others read from.
type Stores struct {
	Classes, Images, Instances *standard.REST
}

// NewAPIGroupInfo makes the storages of the group. What they need of other groups is
// in d; its readers may use the stores that are returned.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter, d storage.Dependencies) (*genericapiserver.APIGroupInfo, *Stores, error) {
	machines, err := storage.New(opts, d)
	if err != nil {
		return nil, nil, err
	}
	instances, instanceStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineinstance.Kind())
	if err != nil {
		return nil, nil, err
	}
	classes, _, err := standard.NewREST(opts, scheme.Scheme, virtualmachineclass.Kind())
	if err != nil {
		return nil, nil, err
	}
	images, imageStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineimage.Kind())
	if err != nil {
		return nil, nil, err
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(vm.GroupName, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.VersionedResourcesStorageMap["v1alpha1"] = map[string]rest.Storage{
		"virtualmachines":                      machines.VirtualMachine,
		"virtualmachines/status":               machines.Status,
		"virtualmachines/start":                machines.Start,
		"virtualmachines/stop":                 machines.Stop,
		"virtualmachines/restart":              machines.Restart,
		"virtualmachines/suspend":              machines.Suspend,
		"virtualmachines/refresh-instancetype": machines.RefreshInstancetype,
		"virtualmachines/refresh-preference":   machines.RefreshPreference,
		"virtualmachines/expand-spec":          machines.ExpandSpec,
		"virtualmachineinstances":              instances,
		"virtualmachineinstances/status":       instanceStatus,
		"virtualmachineclasses":                classes,
		"virtualmachineimages":                 images,
		"virtualmachineimages/status":          imageStatus,
	}
	return &info, &Stores{Classes: classes, Images: images, Instances: instances}, nil
}
