// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

var (
	// ErrNotRead is returned when an object could not be read yet.
	ErrNotRead = errors.New("could not be read yet")
	// ErrNotServed is returned when the management cluster does not serve the kinds, so that the object does not exist.
	ErrNotServed = errors.New("the management cluster does not serve " + Group + "/" + version)
)

// Handlers are called for changes. They must not block.
type Handlers struct {
	// Machine is called when a Machine was created, changed or deleted.
	Machine func(group string, key types.NamespacedName)
	// Cluster is called when a Cluster was created, changed or deleted.
	Cluster func(group string, key types.NamespacedName)
	// Group is called when the objects of a group have been read, or the group is known to have none.
	Group func(group string)
}

// source reads the objects of one group. It returns nil for an object that does not exist.
type source interface {
	machine(key types.NamespacedName) (*Machine, error)
	cluster(key types.NamespacedName) (*Cluster, error)
}

// Reader reads the Machines and Clusters of both groups from caches.
type Reader struct {
	own  *ownSource
	host *managementSource

	mu       sync.Mutex
	handlers []Handlers
}

// New returns a Reader. The caller starts the informers. The Reader sends no request before Run, and none to the
// management cluster before one of its objects is requested.
func New(informers externalversions.SharedInformerFactory, client dynamic.Interface, discovery discovery.DiscoveryInterface) (*Reader, error) {
	r := &Reader{}
	r.host = newManagementSource(client, discovery, r)
	var err error
	if r.own, err = newOwnSource(informers, r); err != nil {
		return nil, fmt.Errorf("watching Slipway's Machines and Clusters: %w", err)
	}
	return r, nil
}

// Watch adds handlers. It must be called before Run.
func (r *Reader) Watch(h Handlers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers = append(r.handlers, h)
}

// Machine returns a Machine, or nil if it does not exist.
func (r *Reader) Machine(group string, key types.NamespacedName) (*Machine, error) {
	return r.sourceOf(group).machine(key)
}

// Cluster returns a Cluster, or nil if it does not exist.
func (r *Reader) Cluster(group string, key types.NamespacedName) (*Cluster, error) {
	return r.sourceOf(group).cluster(key)
}

func (r *Reader) sourceOf(group string) source {
	if group == Group {
		return r.host
	}
	return r.own
}

// Run watches the objects until ctx is done.
func (r *Reader) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), r.own.synced) {
			r.notifyGroup(clusterv1alpha1.GroupName)
		}
	})
	r.host.run(ctx)
	all.Wait()
}

func (r *Reader) registeredHandlers() []Handlers {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handlers
}

func (r *Reader) notifyMachine(group string, key types.NamespacedName) {
	for _, h := range r.registeredHandlers() {
		h.Machine(group, key)
	}
}

func (r *Reader) notifyCluster(group string, key types.NamespacedName) {
	for _, h := range r.registeredHandlers() {
		h.Cluster(group, key)
	}
}

func (r *Reader) notifyGroup(group string) {
	for _, h := range r.registeredHandlers() {
		h.Group(group)
	}
}

// changeHandler returns a handler that calls changed for objects that were created or deleted, and for updates that
// change the result of facts. It ignores the initial list, for which Handlers.Group is called.
func changeHandler[O metav1.Object, T comparable](facts func(O) T, changed func(types.NamespacedName)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if o, ok := obj.(O); ok && !isInInitialList {
				changed(controller.KeyOf(o))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, knownOld := oldObj.(O)
			o, known := obj.(O)
			if known && knownOld && facts(old) != facts(o) {
				changed(controller.KeyOf(o))
			}
		},
		DeleteFunc: func(obj any) {
			if o, ok := controller.WithoutTombstone[O](obj); ok {
				changed(controller.KeyOf(o))
			}
		},
	}
}
