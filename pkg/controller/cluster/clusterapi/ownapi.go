// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// own reads the Machines and Clusters of Slipway's own API from shared informers.
type own struct {
	machines clusterlisters.MachineLister
	clusters clusterlisters.ClusterLister
	synced   func() bool
}

func newOwn(informers externalversions.SharedInformerFactory, r *Reader) (*own, error) {
	kinds := informers.Cluster().V1alpha1()
	machines, clusters := kinds.Machines(), kinds.Clusters()
	group := clusterv1alpha1.GroupName
	synced, err := controller.Register(
		controller.Source{Informer: machines.Informer(), Handler: changes(machineOf, func(key types.NamespacedName) { r.machineChanged(group, key) })},
		controller.Source{Informer: clusters.Informer(), Handler: changes(clusterOf, func(key types.NamespacedName) { r.clusterChanged(group, key) })},
	)
	if err != nil {
		return nil, err
	}
	return &own{machines: machines.Lister(), clusters: clusters.Lister(), synced: func() bool { return synced[0]() && synced[1]() }}, nil
}

func (o *own) machine(key types.NamespacedName) (*Machine, error) {
	return listed(o, "Machine", key, o.machines.Machines(key.Namespace).Get, machineOf)
}

func (o *own) cluster(key types.NamespacedName) (*Cluster, error) {
	return listed(o, "Cluster", key, o.clusters.Clusters(key.Namespace).Get, clusterOf)
}

func listed[O, T any](o *own, kind string, key types.NamespacedName, get func(string) (O, error), facts func(O) T) (*T, error) {
	if !o.synced() {
		return nil, fmt.Errorf("%s %s of %s %w", kind, key, clusterv1alpha1.GroupName, ErrUnread)
	}
	obj, err := get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s of %s: %w", kind, key, clusterv1alpha1.GroupName, err)
	}
	known := facts(obj)
	return &known, nil
}
