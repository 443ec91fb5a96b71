// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// reader reads objects without a kubectl process for each read, because most requests of tests poll for a state.
type reader struct {
	client dynamic.Interface
	known  *restmapper.DeferredDiscoveryRESTMapper
	// names are the kinds with their short names.
	names meta.RESTMapper
}

// readers are the existing readers, by their kubeconfigs.
var readers sync.Map

func readerOf(kubeconfig string) (*reader, error) {
	if r, ok := readers.Load(kubeconfig); ok {
		return r.(*reader), nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(d)
	known := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	r := &reader{client: client, known: known, names: restmapper.NewShortcutExpander(known, cached, nil)}
	readers.Store(kubeconfig, r)
	return r, nil
}

// mapping returns the resource of a kind, given by one of the names that kubectl accepts.
func (r *reader) mapping(name string) (*meta.RESTMapping, error) {
	found := func() (*meta.RESTMapping, error) {
		exact, group := schema.ParseResourceArg(strings.ToLower(name))
		resource := group.WithVersion("")
		if exact != nil {
			if got, err := r.names.ResourceFor(*exact); err == nil {
				resource = got
			}
		}
		resource, err := r.names.ResourceFor(resource)
		if err != nil {
			return nil, err
		}
		kind, err := r.names.KindFor(resource)
		if err != nil {
			return nil, err
		}
		return r.names.RESTMapping(kind.GroupKind(), kind.Version)
	}
	m, err := found()
	if meta.IsNoMatchError(err) { // kinds are added, and those of an unavailable server are missing
		r.known.Reset()
		m, err = found()
	}
	return m, err
}

// read returns one field of an object, given as kind/name, or of all objects of a kind. It returns "" if the object
// does not exist.
func (r *reader) read(t *testing.T, namespace, object, path string) (string, error) {
	kind, name, one := strings.Cut(object, "/")
	m, err := r.mapping(kind)
	if err != nil {
		return "", err
	}
	var objects dynamic.ResourceInterface = r.client.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		objects = r.client.Resource(m.Resource).Namespace(namespace)
	}
	var got runtime.Object
	if one {
		got, err = objects.Get(t.Context(), name, metav1.GetOptions{})
	} else {
		got, err = objects.List(t.Context(), metav1.ListOptions{})
	}
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if o, ok := got.(*unstructured.Unstructured); ok {
		// In a new CustomResourceDefinition the list is null, which JSONPath cannot filter.
		if all, found, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions"); found && all == nil {
			unstructured.RemoveNestedField(o.Object, "status", "conditions")
		}
	}
	p, err := printers.NewJSONPathPrinter("{" + path + "}")
	if err != nil {
		return "", fmt.Errorf("path %s: %w", path, err)
	}
	p.AllowMissingKeys(true)
	var out bytes.Buffer
	if err := p.PrintObj(got, &out); err != nil {
		return "", err
	}
	return out.String(), nil
}

// Mapping returns the resource of a kind, given by one of the names that kubectl accepts.
func Mapping(kubeconfig, name string) (*meta.RESTMapping, error) {
	r, err := readerOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	return r.mapping(name)
}
