// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodesync finds the Node of a Machine in its workload cluster and synchronizes it with the Machine.
package nodesync

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// Reconciler reconciles the Nodes of Machines.
type Reconciler struct {
	Workloads step.Workloads
	// Rules are which labels and annotations of Machines go to Nodes in addition to those that always do.
	Rules node.Rules
	// Grace is how long a workload cluster may be silent.
	Grace  time.Duration
	Events step.Events
	// synchronized are the states of Nodes that have what they are to have.
	synchronized sums
}

// Connect requests the connection to the workload cluster, as soon as there can be one.
func (r *Reconciler) Connect(s *step.State) {
	s.Unconnected = step.ErrNotRequested
	if s.Cluster == nil || !step.IsTrue(s.Cluster.Status.Initialization.InfrastructureProvisioned) {
		return
	}
	s.Workload, s.Unconnected = r.Workloads.Connection(s.ClusterKey())
}

// Forget is called for a Machine that does not exist any more.
func (r *Reconciler) Forget(machine types.NamespacedName) { r.synchronized.forget(machine) }

// Reconcile finds the Node of the Machine by its provider ID, and synchronizes it. That
// there is none yet, or no connection, is no failure: the coming of either is told.
func (r *Reconciler) Reconcile(ctx context.Context, s *step.State) (report step.Report, _ error) {
	m := s.Machine
	if m.Spec.ProviderID == "" {
		return report, nil
	}
	if s.Workload == nil {
		s.NodeErr = s.Unconnected
		return report, nil
	}
	nodes, err := s.Workload.Nodes(m.Spec.ProviderID, m.Status.NodeRef.Name)
	switch {
	case step.IsNotConnected(err):
		s.NodeErr = err
		if errors.Is(err, workload.ErrReading) {
			report.Again(controller.Recheck) // The event of it may come before the Machine's provider ID is stored.
		}
		return report, nil
	case err != nil:
		s.NodeErr = err
		r.Events.Warning(s, "FailedGetNode", "Failed to retrieve Node by ProviderID: %v", err)
		return report, fmt.Errorf("node: %w", err)
	case len(nodes) == 0:
		return report, withoutNode(s)
	}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, &n.Node)
	}
	i := node.Choose(m, s.Nodes)
	if i < 0 {
		return report, nil // The conditions name the Nodes, and a change of one of them is an event.
	}
	s.Node = s.Nodes[i]
	if m.Status.NodeRef.Name != s.Node.Name {
		m.Status.NodeRef.Name = s.Node.Name
		r.Events.Normal(s, "SuccessfulSetNodeRef", "%s", s.Node.Name)
	}
	m.Status.NodeInfo = nodeInfo(&s.Node.Status.NodeInfo)
	after, err := r.synchronize(ctx, s, nodes[i].Sum)
	report.Again(after)
	return report, err
}

// withoutNode returns an error if the Machine had a Node that does not exist any more.
func withoutNode(s *step.State) error {
	m := s.Machine
	if m.Status.NodeRef.IsDefined() && !s.IsDeleting() {
		return fmt.Errorf("node: %s, the Node of the Machine, is gone: no Node has provider ID %s", m.Status.NodeRef.Name, m.Spec.ProviderID)
	}
	return nil
}

// nodeInfo is what a Node says of itself, as a status can have it: one text that it cannot have
// would keep all of the status from being written.
func nodeInfo(i *corev1.NodeSystemInfo) *clusterv1alpha1.NodeSystemInfo {
	return &clusterv1alpha1.NodeSystemInfo{
		MachineID: bounds.Clean(i.MachineID), SystemUUID: bounds.Clean(i.SystemUUID), BootID: bounds.Clean(i.BootID),
		KernelVersion: bounds.Clean(i.KernelVersion), OSImage: bounds.Clean(i.OSImage),
		ContainerRuntimeVersion: bounds.Clean(i.ContainerRuntimeVersion), KubeletVersion: bounds.Clean(i.KubeletVersion),
		OperatingSystem: bounds.Clean(i.OperatingSystem), Architecture: bounds.Clean(i.Architecture),
	}
}

// synchronize gives the Node what it is to have of its Machine, and returns when to try again. sum is that of the
// Node's labels, annotations and taints: while neither these nor the Machine change, the Node is not read.
func (r *Reconciler) synchronize(ctx context.Context, s *step.State, sum [sha256.Size]byte) (time.Duration, error) {
	wanted := node.Wanted{Machine: s.Machine, Set: s.Set, Deployment: s.Deployment}
	if s.Infra.Object != nil {
		interruptible, err := contract.Interruptible(s.Infra.Object)
		if err != nil {
			return 0, fmt.Errorf("node: %w", err)
		}
		wanted.Interruptible = &interruptible
	}
	state := sha256.Sum256(slices.Concat([]byte(s.Node.UID), sum[:], wanted.Sum()))
	if r.synchronized.is(s.Key(), state) {
		return 0, nil
	}
	has, err := r.patchNode(ctx, s, wanted)
	switch {
	case errors.Is(err, workload.ErrBusy):
		return controller.Soon, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), step.IsNotConnected(err):
		return controller.Conflict, nil // By then the watch has what has changed.
	case err != nil:
		return 0, fmt.Errorf("node: synchronizing %s: %w", s.Node.Name, err)
	case has:
		r.synchronized.put(s.Key(), state)
	}
	return 0, nil
}

// patchNode reads the Node and writes what differs, within the visit of the pass or one of its own. It reports
// whether nothing differs.
func (r *Reconciler) patchNode(ctx context.Context, s *step.State, wanted node.Wanted) (bool, error) {
	if !s.IsDeleting() {
		visit, done, err := s.Workload.Visit(ctx)
		if err != nil {
			return false, err
		}
		defer done()
		ctx = visit
	}
	nodes := s.Workload.Client().CoreV1().Nodes()
	before, err := nodes.Get(ctx, s.Node.Name, metav1.GetOptions{})
	if err != nil || before.UID != s.Node.UID {
		return false, err
	}
	patch, err := r.Rules.Patch(wanted, before)
	if err != nil || patch == nil {
		return err == nil, err
	}
	after, err := nodes.Patch(ctx, s.Node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return false, err
	}
	_, was := before.Labels[clusterv1alpha1.InterruptibleLabel]
	if _, is := after.Labels[clusterv1alpha1.InterruptibleLabel]; is && !was {
		r.Events.Normal(s, "SuccessfulSetInterruptibleNodeLabel", "%s", after.Name)
	}
	return false, nil
}

// Conditions returns NodeReady and NodeHealthy, none if those that the Machine has stay as they are, and when to
// compute them again.
func (r *Reconciler) Conditions(s *step.State) ([]metav1.Condition, time.Duration) {
	f := node.Facts{
		Machine: s.Machine, Cluster: s.Cluster, Node: s.Node, Nodes: s.Nodes, Err: s.NodeErr, NotConnected: step.IsNotConnected(s.NodeErr),
		Grace: r.Grace, Now: s.Now,
	}
	if s.Workload == nil {
		f.Err, f.NotConnected = s.Unconnected, true
	}
	f.Success, f.Failures = r.Workloads.Probe(s.ClusterKey())
	return node.Conditions(f)
}

// sums know the state of the Node and the Machine when the Node last had what it is to have.
type sums struct {
	mu  sync.Mutex
	all map[types.NamespacedName][sha256.Size]byte
}

func (s *sums) is(key types.NamespacedName, sum [sha256.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.all[key]
	return ok && known == sum
}

func (s *sums) put(key types.NamespacedName, sum [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.NamespacedName][sha256.Size]byte{}
	}
	s.all[key] = sum
}

// forget is called for a Machine that is gone.
func (s *sums) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}
