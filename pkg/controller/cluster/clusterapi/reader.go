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
	// ErrUnread says that an object could not be read yet.
	ErrUnread = errors.New("could not be read yet")
	// ErrNotServed says that the cluster does not have the kinds, and so none of their objects.
	ErrNotServed = errors.New("the cluster does not serve " + Group + "/" + version)
)

// Handlers hear of changes. They must not block.
type Handlers struct {
	// Machine hears of a Machine that was made, changed or deleted.
	Machine func(group string, key types.NamespacedName)
	// Cluster hears of a Cluster likewise.
	Cluster func(group string, key types.NamespacedName)
	// Group hears that it is known from now on which objects a group has.
	Group func(group string)
}

// source has the objects of one group. An object that does not exist is nil.
type source interface {
	machine(key types.NamespacedName) (*Machine, error)
	cluster(key types.NamespacedName) (*Cluster, error)
}

// Reader reads Machines and Clusters of both groups from caches.
type Reader struct {
	own  *own
	host *host

	mu       sync.Mutex
	handlers []Handlers
}

// New makes a Reader over informers of our own API, which somebody else starts, and the host
// cluster. It asks nothing before Run, and of the host cluster nothing before an object of it is
// asked for.
func New(informers externalversions.SharedInformerFactory, client dynamic.Interface, discovery discovery.DiscoveryInterface) (*Reader, error) {
	r := &Reader{}
	r.host = newHost(client, discovery, r)
	var err error
	if r.own, err = newOwn(informers, r); err != nil {
		return nil, fmt.Errorf("watching our own machines and clusters: %w", err)
	}
	return r, nil
}

// Watch adds handlers. It must be called before Run.
func (r *Reader) Watch(h Handlers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers = append(r.handlers, h)
}

// Machine returns what counts of a Machine, nil for one that does not exist.
func (r *Reader) Machine(group string, key types.NamespacedName) (*Machine, error) {
	return r.of(group).machine(key)
}

// Cluster returns what counts of a Cluster, nil for one that does not exist.
func (r *Reader) Cluster(group string, key types.NamespacedName) (*Cluster, error) {
	return r.of(group).cluster(key)
}

func (r *Reader) of(group string) source {
	if group == Group {
		return r.host
	}
	return r.own
}

// Run watches the host cluster, once there is something to watch, until ctx is done.
func (r *Reader) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), r.own.synced) {
			r.groupKnown(clusterv1alpha1.GroupName)
		}
	})
	r.host.run(ctx)
	all.Wait()
}

func (r *Reader) told() []Handlers {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handlers
}

func (r *Reader) machineChanged(group string, key types.NamespacedName) {
	for _, h := range r.told() {
		h.Machine(group, key)
	}
}

func (r *Reader) clusterChanged(group string, key types.NamespacedName) {
	for _, h := range r.told() {
		h.Cluster(group, key)
	}
}

func (r *Reader) groupKnown(group string) {
	for _, h := range r.told() {
		h.Group(group)
	}
}

// changes tells of objects that were made or deleted, and of those of which something else counts
// than before. What there is from the beginning is told as a group.
func changes[O metav1.Object, T comparable](facts func(O) T, changed func(types.NamespacedName)) cache.ResourceEventHandler {
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
