// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// Group gathers the storages of an API group.
type Group struct {
	// Storages are those of the resources and subresources, by their names.
	Storages map[string]rest.Storage
	opts     generic.RESTOptionsGetter
	err      error
}

// NewGroup makes a group without storages, which opts say how to make.
func NewGroup(opts generic.RESTOptionsGetter) *Group {
	return &Group{Storages: map[string]rest.Storage{}, opts: opts}
}

// Add makes the storages of a kind and returns that of its objects, nil if it could not: see Err.
func Add[T runtime.Object](g *Group, kind Kind[T]) *REST {
	main, status, err := NewREST(g.opts, scheme.Scheme, kind)
	if err != nil {
		g.err = errors.Join(g.err, err)
		return nil
	}
	name := kind.Plural.Resource
	g.Storages[name] = main
	if status != nil {
		g.Storages[name+"/status"] = status
	}
	if kind.Scale != nil {
		g.Storages[name+"/scale"] = NewScaleREST(main, kind)
	}
	return main
}

// Err says which storages could not be made.
func (g *Group) Err() error { return g.err }

// Info is the group as a server installs it, in one version.
func (g *Group) Info(of schema.GroupVersion) (*genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(of.Group, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.NegotiatedSerializer = scheme.Requests
	info.VersionedResourcesStorageMap[of.Version] = g.Storages
	return &info, g.err
}
