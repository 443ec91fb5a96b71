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
	// Rules select the labels and annotations that are copied to Nodes in addition to the built-in ones.
	Rules node.Rules
	// Grace is how long a workload cluster may not answer.
	Grace  time.Duration
	Events step.Events
	// synchronized contains the checksums of Nodes that are up to date.
	synchronized checksums
}

// Connect requests a connection to the workload cluster if its infrastructure is provisioned.
func (r *Reconciler) Connect(s *step.State) {
	s.Unconnected = step.ErrNotRequested
	if s.Cluster == nil || !step.IsTrue(s.Cluster.Status.Initialization.InfrastructureProvisioned) {
		return
	}
	s.Workload, s.Unconnected = r.Workloads.Connection(s.ClusterKey())
}

// Forget removes the state of a deleted Machine.
func (r *Reconciler) Forget(machine types.NamespacedName) { r.synchronized.forget(machine) }

// Reconcile finds the Node of the Machine by its provider ID, and synchronizes it. A missing Node or connection is not
// an error, because its appearance is an event.
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
			report.RequeueAfter(controller.Recheck) // The event may precede the storage of the Machine's provider ID.
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
	i := node.ChooseNode(m, s.Nodes)
	if i < 0 {
		return report, nil // The conditions name the Nodes. A change of one of them is an event.
	}
	s.Node = s.Nodes[i]
	if m.Status.NodeRef.Name != s.Node.Name {
		m.Status.NodeRef.Name = s.Node.Name
		r.Events.Normal(s, "SuccessfulSetNodeRef", "%s", s.Node.Name)
	}
	m.Status.NodeInfo = nodeInfo(&s.Node.Status.NodeInfo)
	after, err := r.synchronize(ctx, s, nodes[i].Sum)
	report.RequeueAfter(after)
	return report, err
}

// withoutNode returns an error if the Machine's Node was deleted.
func withoutNode(s *step.State) error {
	m := s.Machine
	if m.Status.NodeRef.IsDefined() && !s.IsDeleting() {
		return fmt.Errorf("node: Node %s of the Machine was deleted: no Node has provider ID %s", m.Status.NodeRef.Name, m.Spec.ProviderID)
	}
	return nil
}

// nodeInfo returns the system info of a Node. It removes characters that are not valid in a status, because the API
// server would reject the whole status.
func nodeInfo(i *corev1.NodeSystemInfo) *clusterv1alpha1.NodeSystemInfo {
	return &clusterv1alpha1.NodeSystemInfo{
		MachineID: bounds.Clean(i.MachineID), SystemUUID: bounds.Clean(i.SystemUUID), BootID: bounds.Clean(i.BootID),
		KernelVersion: bounds.Clean(i.KernelVersion), OSImage: bounds.Clean(i.OSImage),
		ContainerRuntimeVersion: bounds.Clean(i.ContainerRuntimeVersion), KubeletVersion: bounds.Clean(i.KubeletVersion),
		OperatingSystem: bounds.Clean(i.OperatingSystem), Architecture: bounds.Clean(i.Architecture),
	}
}

// synchronize updates the Node, and returns when to try again. sum is the checksum of the Node's labels, annotations
// and taints. The Node is read only if sum or the Machine has changed.
func (r *Reconciler) synchronize(ctx context.Context, s *step.State, sum [sha256.Size]byte) (time.Duration, error) {
	wanted := node.Source{Machine: s.Machine, Set: s.Set, Deployment: s.Deployment}
	if s.Infra.Object != nil {
		interruptible, err := contract.IsInterruptible(s.Infra.Object)
		if err != nil {
			return 0, fmt.Errorf("node: %w", err)
		}
		wanted.Interruptible = &interruptible
	}
	state := sha256.Sum256(slices.Concat([]byte(s.Node.UID), sum[:], wanted.Checksum()))
	if r.synchronized.matches(s.Key(), state) {
		return 0, nil
	}
	isUpToDate, err := r.patchNode(ctx, s, wanted)
	switch {
	case errors.Is(err, workload.ErrBusy):
		return controller.Soon, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), step.IsNotConnected(err):
		return controller.Conflict, nil // The watch will have delivered the change by then.
	case err != nil:
		return 0, fmt.Errorf("node: synchronizing %s: %w", s.Node.Name, err)
	case isUpToDate:
		r.synchronized.store(s.Key(), state)
	}
	return 0, nil
}

// patchNode reads the Node and patches it. It uses the current visit, or starts one. It reports whether the Node was
// already up to date.
func (r *Reconciler) patchNode(ctx context.Context, s *step.State, wanted node.Source) (bool, error) {
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
	_, wasInterruptible := before.Labels[clusterv1alpha1.InterruptibleLabel]
	if _, is := after.Labels[clusterv1alpha1.InterruptibleLabel]; is && !wasInterruptible {
		r.Events.Normal(s, "SuccessfulSetInterruptibleNodeLabel", "%s", after.Name)
	}
	return false, nil
}

// Conditions returns the conditions NodeReady and NodeHealthy, and when to compute them again. It returns none if the
// current conditions must stay unchanged.
func (r *Reconciler) Conditions(s *step.State) ([]metav1.Condition, time.Duration) {
	f := node.State{
		Machine: s.Machine, Cluster: s.Cluster, Node: s.Node, Nodes: s.Nodes, Err: s.NodeErr, NotConnected: step.IsNotConnected(s.NodeErr),
		Grace: r.Grace, Now: s.Now,
	}
	if s.Workload == nil {
		f.Err, f.NotConnected = s.Unconnected, true
	}
	f.Success, f.Failures = r.Workloads.Probe(s.ClusterKey())
	return node.Conditions(f)
}

// checksums maps Machines to the checksum of the last synchronized state.
type checksums struct {
	mu  sync.Mutex
	all map[types.NamespacedName][sha256.Size]byte
}

func (s *checksums) matches(key types.NamespacedName, sum [sha256.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.all[key]
	return ok && known == sum
}

func (s *checksums) store(key types.NamespacedName, sum [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.NamespacedName][sha256.Size]byte{}
	}
	s.all[key] = sum
}

// forget removes a deleted Machine.
func (s *checksums) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}
