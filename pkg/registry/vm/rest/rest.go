// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest maps the resources of vm.slipway.dev to their storages.
//
// Guarantee: all endpoints of a resource use one store.
package rest

import (
	"maps"
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
	"github.com/slipway-dev/slipway/pkg/registry/vm/slipwaycluster"
	"github.com/slipway-dev/slipway/pkg/registry/vm/vcenter"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinegroup"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimagecache"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinepublishrequest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinesnapshot"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinetemplate"
	"github.com/slipway-dev/slipway/pkg/registry/vm/zone"
)

// Dependencies are the dependencies of the storages.
type Dependencies struct {
	// Owners records the field owners of changes through subresources.
	Owners storage.FieldOwners
	// Instancetypes are the stores of instance types, preferences and revisions.
	Instancetypes *instancetyperest.Stores
	// Host is the client of the management cluster, for persistent volume claims. If it is nil, claims are unknown.
	Host kubernetes.Interface
	// Screens provides the consoles and screenshots of virtual machines.
	Screens storage.Screens
	// Admission admits the changes of virtual machines by subresources. It may be nil.
	Admission admission.Interface
	// Readers is an output: NewAPIGroupInfo sets it to readers of the objects in all storages.
	Readers *references.Readers
}

// NewAPIGroupInfo creates the storages of the group. It creates virtual machines last, because they refer to the
// other kinds.
func NewAPIGroupInfo(opts generic.RESTOptionsGetter, d Dependencies) (*genericapiserver.APIGroupInfo, error) {
	g := standard.NewGroup(opts)
	readers := d.Readers
	*readers = references.Readers{
		Instancetypes: d.Instancetypes, Host: d.Host, Decoder: instancetype.NewDecoder(),
		Instances:     standard.Add(g, virtualmachineinstance.Kind()),
		Classes:       standard.Add(g, virtualmachineclass.Kind()),
		Images:        standard.Add(g, virtualmachineimage.Namespaced()),
		ClusterImages: standard.Add(g, virtualmachineimage.Cluster()),
		Snapshots:     standard.Add(g, virtualmachinesnapshot.Kind()),
	}
	standard.Add(g, vcenter.Kind())
	standard.Add(g, zone.Kind())
	standard.Add(g, contentlibrary.Kind())
	standard.Add(g, virtualmachineimagecache.Kind())
	standard.Add(g, virtualmachinepublishrequest.Kind())
	standard.Add(g, virtualmachinegroup.Kind())
	standard.Add(g, virtualmachinetemplate.Kind())
	standard.Add(g, slipwaycluster.Kind())
	if err := g.Err(); err != nil {
		return nil, err
	}
	cached := readers.Cached()
	machines, err := storage.New(opts, storage.Dependencies{
		Now: time.Now, Typer: scheme.Scheme, Owners: d.Owners, Admission: d.Admission, Screens: d.Screens, Readers: readers, Cached: cached,
	})
	if err != nil {
		return nil, err
	}
	readers.Machines, cached.Machines = machines.VirtualMachine.REST, machines.VirtualMachine.REST
	maps.Copy(g.Storages, map[string]rest.Storage{
		"virtualmachines":                      machines.VirtualMachine,
		"virtualmachines/status":               machines.Status,
		"virtualmachines/start":                machines.Start,
		"virtualmachines/stop":                 machines.Stop,
		"virtualmachines/restart":              machines.Restart,
		"virtualmachines/suspend":              machines.Suspend,
		"virtualmachines/refresh-instancetype": machines.RefreshInstancetype,
		"virtualmachines/refresh-preference":   machines.RefreshPreference,
		"virtualmachines/expand-spec":          machines.ExpandSpec,
		"virtualmachines/console":              machines.Console,
		"virtualmachines/screenshot":           machines.Screenshot,
	})
	return g.Info(vmv1alpha1.SchemeGroupVersion)
}
