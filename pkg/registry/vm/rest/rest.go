// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of vm.slipway.dev to their storages.
//
// Guarantee: every endpoint of a resource is over one store.
package rest

import (
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	instancetyperest "github.com/slipway-dev/slipway/pkg/registry/instancetype/rest"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/contentlibrary"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	"github.com/slipway-dev/slipway/pkg/registry/vm/vcenter"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimagecache"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinepublishrequest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/zone"
)

// Dependencies is what the storages need of others.
type Dependencies struct {
	// Owners records who set what through a subresource.
	Owners storage.FieldOwners
	// Instancetypes are the stores of instance types and preferences, and of their
	// revisions.
	Instancetypes *instancetyperest.Stores
	// Host has claims. It may be nil: then they are unknown.
	Host kubernetes.Interface
	// Admission judges what subresources make of virtual machines. It may be nil.
	Admission admission.Interface
}

// NewAPIGroupInfo makes the storages of the group: first the kinds that stand alone,
// then virtual machines, which refer to them. The readers read all of them.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter, d Dependencies) (*genericapiserver.APIGroupInfo, *references.Readers, error) {
	instances, instanceStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineinstance.Kind())
	if err != nil {
		return nil, nil, err
	}
	classes, _, err := standard.NewREST(opts, scheme.Scheme, virtualmachineclass.Kind())
	if err != nil {
		return nil, nil, err
	}
	images, imageStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineimage.Namespaced())
	if err != nil {
		return nil, nil, err
	}
	clusterImages, clusterImageStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineimage.Cluster())
	if err != nil {
		return nil, nil, err
	}
	vcenters, vcenterStatus, err := standard.NewREST(opts, scheme.Scheme, vcenter.Kind())
	if err != nil {
		return nil, nil, err
	}
	readers := &references.Readers{
		Instancetypes: d.Instancetypes, Instances: instances, Classes: classes, Images: images, ClusterImages: clusterImages, Host: d.Host, Decoder: instancetype.NewDecoder(),
	}
	zones, zoneStatus, err := standard.NewREST(opts, scheme.Scheme, zone.Kind())
	if err != nil {
		return nil, nil, err
	}
	libraries, libraryStatus, err := standard.NewREST(opts, scheme.Scheme, contentlibrary.Kind())
	if err != nil {
		return nil, nil, err
	}
	caches, cacheStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachineimagecache.Kind())
	if err != nil {
		return nil, nil, err
	}
	publishes, publishStatus, err := standard.NewREST(opts, scheme.Scheme, virtualmachinepublishrequest.Kind())
	if err != nil {
		return nil, nil, err
	}
	cached := readers.Cached()
	machines, err := storage.New(opts, storage.Dependencies{
		Now: time.Now, Typer: scheme.Scheme, Owners: d.Owners, Admission: d.Admission, Readers: readers, Cached: cached,
	})
	if err != nil {
		return nil, nil, err
	}
	readers.Machines, cached.Machines = machines.VirtualMachine.REST, machines.VirtualMachine.REST
	info := genericapiserver.NewDefaultAPIGroupInfo(vmv1alpha1.GroupName, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.NegotiatedSerializer = scheme.Requests
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
		"vcenters":                             vcenters,
		"vcenters/status":                      vcenterStatus,
		"zones":                                zones,
		"zones/status":                         zoneStatus,
		"contentlibraries":                     libraries,
		"contentlibraries/status":              libraryStatus,
		"virtualmachineimagecaches":            caches,
		"virtualmachineimagecaches/status":     cacheStatus,
		"virtualmachinepublishrequests":        publishes,
		"virtualmachinepublishrequests/status": publishStatus,
		"clustervirtualmachineimages":          clusterImages,
		"clustervirtualmachineimages/status":   clusterImageStatus,
	}
	return &info, readers, nil
}
