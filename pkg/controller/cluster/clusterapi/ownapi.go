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

// ownSource reads the Machines and Clusters of Slipway's own API from shared informers.
type ownSource struct {
	machines clusterlisters.MachineLister
	clusters clusterlisters.ClusterLister
	synced   func() bool
}

func newOwnSource(informers externalversions.SharedInformerFactory, r *Reader) (*ownSource, error) {
	kinds := informers.Cluster().V1alpha1()
	machines, clusters := kinds.Machines(), kinds.Clusters()
	group := clusterv1alpha1.GroupName
	synced, err := controller.Register(
		controller.Source{Informer: machines.Informer(), Handler: changeHandler(machineOf, func(key types.NamespacedName) { r.notifyMachine(group, key) })},
		controller.Source{Informer: clusters.Informer(), Handler: changeHandler(clusterOf, func(key types.NamespacedName) { r.notifyCluster(group, key) })},
	)
	if err != nil {
		return nil, err
	}
	return &ownSource{machines: machines.Lister(), clusters: clusters.Lister(), synced: func() bool { return synced[0]() && synced[1]() }}, nil
}

func (o *ownSource) machine(key types.NamespacedName) (*Machine, error) {
	return readListed(o, "Machine", key, o.machines.Machines(key.Namespace).Get, machineOf)
}

func (o *ownSource) cluster(key types.NamespacedName) (*Cluster, error) {
	return readListed(o, "Cluster", key, o.clusters.Clusters(key.Namespace).Get, clusterOf)
}

func readListed[O, T any](o *ownSource, kind string, key types.NamespacedName, get func(string) (O, error), facts func(O) T) (*T, error) {
	if !o.synced() {
		return nil, fmt.Errorf("%s %s of %s %w", kind, key, clusterv1alpha1.GroupName, ErrNotRead)
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
