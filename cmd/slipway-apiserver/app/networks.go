// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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

// destinations are the addresses that the server may connect to for users.
type destinations struct {
	// probes are for readiness probes, workloads for kubeconfigs of workload clusters.
	probes, workloads networks.Networks
	// stop ends the informers and waits for their goroutines.
	stop func()
}

// newDestinations starts to read the addresses of the management cluster, unless both flags name
// what may be connected to.
func newDestinations(ctx context.Context, o *Options, host kubernetes.Interface) (*destinations, error) {
	d := &destinations{stop: func() {}}
	var err error
	if d.probes.Allowed, err = o.Probes.networks(); err != nil {
		return nil, err
	}
	if d.workloads.Allowed, err = o.Workloads.networks(); err != nil {
		return nil, err
	}
	if len(d.probes.Allowed) > 0 && len(d.workloads.Allowed) > 0 {
		return d, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithTransform(addressesAlone))
	management := networks.NewManagement(nodes, serviceCIDRs)
	var running sync.WaitGroup
	for kind, informer := range map[string]cache.SharedIndexInformer{
		nodes: factory.Core().V1().Nodes().Informer(), serviceCIDRs: factory.Networking().V1().ServiceCIDRs().Informer(),
	} {
		if err := follow(ctx, &running, management, kind, informer); err != nil {
			cancel()
			return nil, fmt.Errorf("following the %s of the management cluster: %w", kind, err)
		}
	}
	factory.StartWithContext(ctx)
	d.probes.Management, d.workloads.Management = management, management
	d.stop = func() { cancel(); factory.Shutdown(); running.Wait() }
	return d, nil
}

// The kinds of the management cluster that show addresses.
const (
	nodes        = "Nodes"
	serviceCIDRs = "ServiceCIDRs"
)

// follow keeps the addresses that objects of a kind show in management.
func follow(ctx context.Context, running *sync.WaitGroup, management *networks.Management, kind string, informer cache.SharedIndexInformer) error {
	set := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			management.Set(kind+"/"+key, rangesOf(obj)...)
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
	// Until the kind was read, an error that repeating does not resolve is reported to users. After
	// that, the addresses that were read last remain.
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !added.HasSynced() && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
			management.SetRead(kind, fmt.Errorf("%w (--probe-networks and --workload-networks name the networks that may be connected to without it)", err))
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return err
	}
	running.Go(func() {
		if cache.WaitFor(ctx, "", added.HasSyncedChecker()) {
			management.SetRead(kind, nil)
		}
	})
	return nil
}

// addressesAlone returns what is kept of an object: its name and the addresses that it shows.
func addressesAlone(obj any) (any, error) {
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

// rangesOf returns the addresses that an object of the management cluster shows. Host names of
// nodes are not resolved.
func rangesOf(obj any) []netip.Prefix {
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
