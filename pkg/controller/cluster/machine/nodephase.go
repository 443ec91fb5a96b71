// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

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
)

// connect asks for the connection to the workload cluster, as soon as there can be one.
func (s *scope) connect() {
	s.unconnected = errNotAsked
	if s.cluster == nil || !isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned) {
		return
	}
	s.workload, s.unconnected = s.workloads.Connection(clusterKey(s.machine))
}

// reconcileNode finds the Node of the Machine by its provider ID, and synchronizes it. That
// there is none yet, or no connection, is no failure: the coming of either is told.
func (s *scope) reconcileNode(ctx context.Context) error {
	m := s.machine
	if m.Spec.ProviderID == "" {
		return nil
	}
	if s.workload == nil {
		s.nodeErr = s.unconnected
		return nil
	}
	nodes, err := s.workload.Nodes(m.Spec.ProviderID, m.Status.NodeRef.Name)
	if err == nil && len(nodes) > 1 {
		err = fmt.Errorf("%d Nodes have provider ID %s", len(nodes), m.Spec.ProviderID)
	}
	switch {
	case isNotConnected(err):
		s.nodeErr = err
		if errors.Is(err, workload.ErrReading) {
			s.again(controller.Recheck) // The event of it may come before the Machine's provider ID is stored.
		}
		return nil
	case err != nil:
		s.nodeErr = err
		s.warn("FailedGetNode", "Failed to retrieve Node by ProviderID: %v", err)
		return fmt.Errorf("node: %w", err)
	case len(nodes) == 0:
		return s.withoutNode()
	}
	s.node = &nodes[0].Node
	if !m.Status.NodeRef.IsDefined() {
		m.Status.NodeRef.Name = s.node.Name
		s.event("SuccessfulSetNodeRef", "%s", s.node.Name)
	}
	m.Status.NodeInfo = nodeInfo(&s.node.Status.NodeInfo)
	return s.synchronize(ctx, nodes[0].Sum)
}

// withoutNode returns an error if the Machine had a Node that does not exist any more.
func (s *scope) withoutNode() error {
	m := s.machine
	if m.Status.NodeRef.IsDefined() && !s.isDeleting() {
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

// synchronize gives the Node what it is to have of its Machine. sum is that of its labels, annotations and taints: while
// neither these nor the Machine change, the Node is not read.
func (s *scope) synchronize(ctx context.Context, sum [sha256.Size]byte) error {
	wanted := node.Wanted{Machine: s.machine, Set: s.facts.set, Deployment: s.deployment}
	if s.infra.object != nil {
		interruptible, err := contract.Interruptible(s.infra.object)
		if err != nil {
			return fmt.Errorf("node: %w", err)
		}
		wanted.Interruptible = &interruptible
	}
	state := sha256.Sum256(slices.Concat([]byte(s.node.UID), sum[:], wanted.Sum()))
	if s.synchronized.is(s.key(), state) {
		return nil
	}
	has, err := s.patchNode(ctx, wanted)
	switch {
	case errors.Is(err, workload.ErrBusy):
		s.again(controller.Soon)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), isNotConnected(err):
		s.again(controller.Conflict) // By then the watch has what has changed.
	case err != nil:
		return fmt.Errorf("node: synchronizing %s: %w", s.node.Name, err)
	case has:
		s.synchronized.put(s.key(), state)
	}
	return nil
}

// patchNode reads the Node and writes what differs, within the visit of the pass or one of its own. It reports
// whether nothing differs.
func (s *scope) patchNode(ctx context.Context, wanted node.Wanted) (bool, error) {
	if !s.isDeleting() {
		visit, done, err := s.workload.Visit(ctx)
		if err != nil {
			return false, err
		}
		defer done()
		ctx = visit
	}
	nodes := s.workload.Client().CoreV1().Nodes()
	before, err := nodes.Get(ctx, s.node.Name, metav1.GetOptions{})
	if err != nil || before.UID != s.node.UID {
		return false, err
	}
	patch, err := s.nodeRules.Patch(wanted, before)
	if err != nil || patch == nil {
		return err == nil, err
	}
	after, err := nodes.Patch(ctx, s.node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err == nil {
		s.toldInterruptible(before, after)
	}
	return false, err
}

func (s *scope) toldInterruptible(read, written *corev1.Node) {
	_, before := read.Labels[clusterv1alpha1.InterruptibleLabel]
	if _, now := written.Labels[clusterv1alpha1.InterruptibleLabel]; now && !before {
		s.event("SuccessfulSetInterruptibleNodeLabel", "%s", written.Name)
	}
}

// nodeConditions are NodeReady and NodeHealthy; none where those that are there stay.
func (s *scope) nodeConditions() []metav1.Condition {
	f := node.Facts{
		Machine: s.machine, Cluster: s.cluster, Node: s.node, Err: s.nodeErr, NotConnected: isNotConnected(s.nodeErr),
		Grace: s.grace, Now: s.now,
	}
	if s.workload == nil {
		f.Err, f.NotConnected = s.unconnected, true
	}
	f.Success, f.Failures = s.workloads.Probe(clusterKey(s.machine))
	all, after := node.Conditions(f)
	s.again(after)
	return all
}
