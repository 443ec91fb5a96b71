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

// Group collects the storages of an API group.
type Group struct {
	// Storages are the storages by the names of resources and subresources.
	Storages map[string]rest.Storage
	opts     generic.RESTOptionsGetter
	err      error
}

// NewGroup returns an empty group that creates storages with opts.
func NewGroup(opts generic.RESTOptionsGetter) *Group {
	return &Group{Storages: map[string]rest.Storage{}, opts: opts}
}

// Add creates the storages of a kind and returns the main one, or nil after an error; see Err.
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

// Err returns the errors of Add.
func (g *Group) Err() error { return g.err }

// Info returns the group in the version of, for installation in a server.
func (g *Group) Info(of schema.GroupVersion) (*genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(of.Group, scheme.Scheme, scheme.ParameterCodec, scheme.Codecs)
	info.NegotiatedSerializer = scheme.Requests
	info.VersionedResourcesStorageMap[of.Version] = g.Storages
	return &info, g.err
}
