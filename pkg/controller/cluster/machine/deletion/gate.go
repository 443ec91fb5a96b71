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

// Why nothing is done to the Node of a Machine that is deleted.
const (
	refusedNoCluster      = "there is no Cluster"
	refusedClusterGoes    = "the Cluster is being deleted"
	refusedNoNode         = "the Machine has no Node"
	refusedControlGoes    = "the control plane is being deleted"
	refusedLastOfControls = "no other Machine of the control plane is left"
)

// Refusal returns why a Machine is deleted without its Node being drained and deleted; empty if
// that is done. It is done where the API of the workload cluster will outlive the Machine.
func (d *Reconciler) Refusal(ctx context.Context, s *step.State, report *step.Report) (string, error) {
	c := s.Cluster
	switch {
	case c == nil:
		return refusedNoCluster, nil
	case c.DeletionTimestamp != nil:
		return refusedClusterGoes, nil
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
			return refusedControlGoes, nil
		}
		elsewhere, err := contract.ExternallyManaged(plane)
		if err != nil || elsewhere {
			return "", err
		}
	}
	return lastOfControlPlane(d.Members(s.ClusterKey()), plane != nil), nil
}

// lastOfControlPlane looks for a Machine of the control plane that stays. Where there is
// neither such a Machine nor a control plane that makes them, the API of the cluster is
// somewhere else, and nobody's deletion ends it.
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
		return refusedLastOfControls
	}
	return ""
}

// errNodeRead is returned while the Node of a Machine that is deleted is being read.
var errNodeRead = errors.New("the Node is being read")

// maxLateRead is how long after its deletion a Machine waits until its Node was read.
const maxLateRead = time.Minute

// findNodes finds all Nodes with the provider ID of a Machine that is deleted: they go with its infrastructure, also one
// that the Machine does not name, and one of a Machine that does not know its Node yet. That they cannot be found does
// not keep the Machine.
func findNodes(ctx context.Context, s *step.State, report *step.Report) error {
	m := s.Machine
	provider := m.Spec.ProviderID
	if provider == "" && s.Infra.Object != nil {
		provider, _ = contract.ProviderID(s.Infra.Object) // The step of the infrastructure returns its error.
	}
	if provider == "" || s.Workload == nil {
		return nil
	}
	nodes, err := s.Workload.Nodes(provider, "")
	if errors.Is(err, workload.ErrReading) {
		if s.NodesUnread = m.Status.NodeRef.IsDefined(); s.NodesUnread {
			return nil
		}
		if s.Now.Sub(m.DeletionTimestamp.Time) < maxLateRead {
			report.Again(controller.Conflict)
			return errNodeRead
		}
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking for the Nodes of a Machine that is deleted", "providerID", provider)
		return nil
	}
	s.Nodes = nil
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, &n.Node)
	}
	if len(nodes) > 0 && !m.Status.NodeRef.IsDefined() {
		s.Node = s.Nodes[max(0, node.Choose(m, s.Nodes))]
		m.Status.NodeRef.Name = s.Node.Name
	}
	return nil
}
