// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/networks"
)

// Addresses collects the network addresses of the management cluster. The server does not connect to these addresses on
// behalf of users.
type Addresses struct {
	// Networks rejects connections to the collected addresses.
	Networks *networks.Management
	factory  informers.SharedInformerFactory
	// synced has an entry for each watched kind.
	synced map[string]cache.DoneChecker
}

// New returns Addresses that are read with client. The informers start when Run is called. Until they have synced,
// Networks rejects all addresses.
func New(client kubernetes.Interface) (*Addresses, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(stripToAddresses))
	a := &Addresses{Networks: networks.NewManagement(nodes, serviceCIDRs), factory: factory, synced: map[string]cache.DoneChecker{}}
	for kind, informer := range map[string]cache.SharedIndexInformer{
		nodes: factory.Core().V1().Nodes().Informer(), serviceCIDRs: factory.Networking().V1().ServiceCIDRs().Informer(),
	} {
		if err := a.watchKind(kind, informer); err != nil {
			return nil, fmt.Errorf("watching the %s of the management cluster: %w", kind, err)
		}
	}
	return a, nil
}

// Run watches the addresses until ctx is done.
func (a *Addresses) Run(ctx context.Context) {
	var running sync.WaitGroup
	for kind, synced := range a.synced {
		running.Go(func() {
			if cache.WaitFor(ctx, "", synced) {
				a.Networks.SetRead(kind, nil)
			}
		})
	}
	a.factory.StartWithContext(ctx)
	<-ctx.Done()
	a.factory.Shutdown()
	running.Wait()
}

// Kinds of the management cluster whose objects contain addresses.
const (
	nodes        = "Nodes"
	serviceCIDRs = "ServiceCIDRs"
)

// watchKind stores the addresses of all objects of a kind.
func (a *Addresses) watchKind(kind string, informer cache.SharedIndexInformer) error {
	management := a.Networks
	set := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			management.Set(kind+"/"+key, addressRanges(obj)...)
		}
	}
	added, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				management.Set(kind + "/" + key)
			}
		},
	})
	if err != nil {
		return err
	}
	// Before the kind has been read once, a permanent error is reported to users. After that, the addresses that were
	// read last stay in effect.
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !added.HasSynced() && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
			management.SetRead(kind, fmt.Errorf("%w (--probe-networks and --workload-networks name networks that may be connected to without this check)", err))
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return err
	}
	a.synced[kind] = added.HasSyncedChecker()
	return nil
}

// stripToAddresses reduces an object to its name and the fields that contain addresses.
func stripToAddresses(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Node:
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, ResourceVersion: o.ResourceVersion},
			Spec:       corev1.NodeSpec{PodCIDR: o.Spec.PodCIDR, PodCIDRs: o.Spec.PodCIDRs},
			Status:     corev1.NodeStatus{Addresses: o.Status.Addresses},
		}, nil
	case *networkingv1.ServiceCIDR:
		return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: o.Name, ResourceVersion: o.ResourceVersion}, Spec: o.Spec}, nil
	}
	return obj, nil
}

// addressRanges returns the address ranges of a Node or a ServiceCIDR. Host names of nodes are not resolved.
func addressRanges(obj any) []netip.Prefix {
	var texts []string
	switch o := obj.(type) {
	case *corev1.Node:
		texts = append(texts, append(o.Spec.PodCIDRs, o.Spec.PodCIDR)...)
		for _, a := range o.Status.Addresses {
			texts = append(texts, a.Address)
		}
	case *networkingv1.ServiceCIDR:
		texts = o.Spec.CIDRs
	}
	var all []netip.Prefix
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap().WithZone("")
			all = append(all, netip.PrefixFrom(a, a.BitLen()))
		} else if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}
