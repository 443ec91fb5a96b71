// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "machinehealthcheck"

// workers is how many checks are looked at at the same time.
const workers = 4

// Nodes are those of workload clusters.
type Nodes interface {
	// Node returns the Node of a Cluster that has a provider ID and a name, nil if there is none. It has no
	// labels, annotations and taints. An error means that it cannot be known now.
	Node(cluster types.NamespacedName, providerID, name string) (*corev1.Node, error)
	// Registered is true if a Cluster has a Node of a provider ID. An error means as much.
	Registered(cluster types.NamespacedName, providerID string) (bool, error)
	// Silent is true while a Cluster does not answer and its Nodes are as they were seen last.
	Silent(cluster types.NamespacedName) bool
	// OnCluster has f called when it can be known again or not any more, OnNode when a Node
	// has changed. f may not block. They are called before Run.
	OnCluster(f func(cluster types.NamespacedName))
	OnNode(f func(cluster types.NamespacedName, node *corev1.Node))
}

// External reads templates of remediation requests and knows their kinds.
type External interface {
	// Get reads an object.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Resolve tells what is known of a kind.
	Resolve(ctx context.Context, group, kind string) (contract.Kind, error)
}

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes MachineHealthChecks, and conditions of Machines.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Nodes are those of workload clusters.
	Nodes Nodes
	// External are the kinds of remediation requests.
	External External
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Controller looks after the health of Machines.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	checks controller.Store[*check]
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	kinds := d.Informers.Cluster().V1alpha1()
	checks, machines := kinds.MachineHealthChecks().Informer(), kinds.Machines().Informer()
	c := &Controller{checks: controller.NewStore[*check](checks, false)}
	r := &reconciler{
		client: d.Client.ClusterV1alpha1(), checks: c.checks, machines: controller.NewStore[*machine](machines, false),
		clusters: kinds.Clusters().Lister(), nodes: d.Nodes, external: d.External, recorder: d.Recorder, now: controller.Clock(d.Now),
	}
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(controller.NewQueue(Name, controller.QueueOptions{Fairness: true})).
		Index(checks, checkIndexers).
		Index(machines, machineIndexers).
		Watches(checks, c.checks.Handler(), controller.Changes(true, c.checkChanged)).
		Watches(machines, r.machines.Handler(), controller.Changes(false, c.machineChanged)).
		Watches(kinds.Clusters().Informer(), controller.Changes(false, c.clusterChanged)).
		Reconciler(r).
		Build()
	d.Nodes.OnCluster(c.clusterTells)
	d.Nodes.OnNode(func(in types.NamespacedName, _ *corev1.Node) { c.clusterTells(in) })
	return c, err
}
