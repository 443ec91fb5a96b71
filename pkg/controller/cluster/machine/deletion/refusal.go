// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// Reasons why the Node of a Machine is not drained and deleted.
const (
	refusedNoCluster            = "the Cluster does not exist"
	refusedClusterDeleting      = "the Cluster is being deleted"
	refusedNoNode               = "the Machine has no Node"
	refusedControlPlaneDeleting = "the control plane is being deleted"
	refusedLastControlPlane     = "no other Machine of the control plane is left"
)

// SkipNodeReason returns why the Node of a deleted Machine is not drained and deleted, or "" if it is. This requires that the
// API server of the workload cluster outlives the Machine.
func (d *Reconciler) SkipNodeReason(ctx context.Context, s *step.State, report *step.Report) (string, error) {
	c := s.Cluster
	switch {
	case c == nil:
		return refusedNoCluster, nil
	case c.DeletionTimestamp != nil:
		return refusedClusterDeleting, nil
	}
	if err := findNodes(ctx, s, report); err != nil {
		return "", err
	}
	if !s.Machine.Status.NodeRef.IsDefined() {
		return refusedNoNode, nil
	}
	plane, err := d.External.ControlPlane(ctx, c)
	if err != nil {
		return "", err
	}
	if plane != nil {
		if plane.GetDeletionTimestamp() != nil {
			return refusedControlPlaneDeleting, nil
		}
		elsewhere, err := contract.IsExternallyManaged(plane)
		if err != nil || elsewhere {
			return "", err
		}
	}
	return lastOfControlPlane(d.Members(s.ClusterKey()), plane != nil), nil
}

// lastOfControlPlane returns a reason if no Machine of the control plane remains. If there are no control plane
// Machines and no control plane object, the API server runs elsewhere and outlives the Machine.
func lastOfControlPlane(members []*clusterv1alpha1.Machine, modelled bool) string {
	for _, m := range members {
		if !step.IsControlPlane(m) {
			continue
		}
		if m.DeletionTimestamp == nil {
			return ""
		}
		modelled = true
	}
	if modelled {
		return refusedLastControlPlane
	}
	return ""
}

// errReadingNode is returned while the Node of a deleted Machine is being read.
var errReadingNode = errors.New("the Node is being read")

// maxNodeReadDelay is how long a deleted Machine waits for its Node to be read.
const maxNodeReadDelay = time.Minute

// findNodes finds all Nodes with the provider ID of a deleted Machine, because they share its infrastructure. This
// includes Nodes that are not in its nodeRef. An error in finding them does not block the deletion.
func findNodes(ctx context.Context, s *step.State, report *step.Report) error {
	m := s.Machine
	provider := m.Spec.ProviderID
	if provider == "" && s.Infra.Object != nil {
		provider, _ = contract.ProviderID(s.Infra.Object) // The infrastructure step returns the error.
	}
	if provider == "" || s.Workload == nil {
		return nil
	}
	nodes, err := s.Workload.Nodes(provider, "")
	if errors.Is(err, workload.ErrReading) {
		if s.NodesUnread = m.Status.NodeRef.IsDefined(); s.NodesUnread {
			return nil
		}
		if s.Now.Sub(m.DeletionTimestamp.Time) < maxNodeReadDelay {
			report.RequeueAfter(controller.Conflict)
			return errReadingNode
		}
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot find the Nodes of a Machine that is being deleted", "providerID", provider)
		return nil
	}
	s.Nodes = nil
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, &n.Node)
	}
	if len(nodes) > 0 && !m.Status.NodeRef.IsDefined() {
		s.Node = s.Nodes[max(0, node.ChooseNode(m, s.Nodes))]
		m.Status.NodeRef.Name = s.Node.Name
	}
	return nil
}
