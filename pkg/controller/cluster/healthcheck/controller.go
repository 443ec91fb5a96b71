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

// Name is the name of the controller in logs, metrics and its queue.
const Name = "machinehealthcheck"

// workers is the number of MachineHealthChecks that are reconciled concurrently.
const workers = 4

// Nodes reads the Nodes of workload clusters.
type Nodes interface {
	// Node returns the Node of a Cluster with a provider ID and a name, or nil if it does not exist. It has no labels,
	// annotations and taints. An error means that this is currently unknown.
	Node(cluster types.NamespacedName, providerID, name string) (*corev1.Node, error)
	// HasNode reports whether a Cluster has a Node with a provider ID. An error means that this is currently
	// unknown.
	HasNode(cluster types.NamespacedName, providerID string) (bool, error)
	// IsSilent reports whether a Cluster does not answer. Its Nodes are then the last known ones.
	IsSilent(cluster types.NamespacedName) bool
	// OnCluster adds a callback for changes of the connection to a Cluster, OnNode for changes of a Node. f must not
	// block. Both must be called before Run.
	OnCluster(f func(cluster types.NamespacedName))
	OnNode(f func(cluster types.NamespacedName, node *corev1.Node))
}

// External reads templates of remediation requests and resolves their kinds.
type External interface {
	// Get returns an object.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Resolve returns the Kind of a group and kind.
	Resolve(ctx context.Context, group, kind string) (contract.Kind, error)
}

// Deps are the dependencies of the controller. All except Now are required.
type Deps struct {
	// Client writes MachineHealthChecks and conditions of Machines.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Nodes reads the Nodes of workload clusters.
	Nodes Nodes
	// External reads templates of remediation requests.
	External External
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Controller reconciles MachineHealthChecks.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	checks controller.Store[*check]
}

// New returns a controller. Run starts it. New must be called before the informers are started.
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
		Watches(checks, c.checks.Handler(), controller.HandleChanges(true, c.checkChanged)).
		Watches(machines, r.machines.Handler(), controller.HandleChanges(false, c.machineChanged)).
		Watches(kinds.Clusters().Informer(), controller.HandleChanges(false, c.clusterChanged)).
		Reconciler(r).
		Build()
	d.Nodes.OnCluster(c.onClusterEvent)
	d.Nodes.OnNode(func(in types.NamespacedName, _ *corev1.Node) { c.onClusterEvent(in) })
	return c, err
}
