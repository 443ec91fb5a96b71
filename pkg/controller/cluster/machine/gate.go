// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// Why nothing is done to the Node of a Machine that is deleted.
const (
	refusedNoCluster      = "there is no Cluster"
	refusedClusterGoes    = "the Cluster is being deleted"
	refusedNoNode         = "the Machine has no Node"
	refusedControlGoes    = "the control plane is being deleted"
	refusedLastOfControls = "no other Machine of the control plane is left"
)

// refusal says why a Machine is deleted without its Node being drained and deleted; empty if
// that is done. It is done where the API of the workload cluster will outlive the Machine.
func (s *scope) refusal(ctx context.Context) (string, error) {
	c := s.cluster
	switch {
	case c == nil:
		return refusedNoCluster, nil
	case c.DeletionTimestamp != nil:
		return refusedClusterGoes, nil
	}
	if err := s.findNodeLate(ctx); err != nil {
		return "", err
	}
	if !s.machine.Status.NodeRef.IsDefined() {
		return refusedNoNode, nil
	}
	plane, err := s.controlPlane(ctx)
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
	return lastOfControlPlane(s.members(clusterKey(s.machine)), plane != nil), nil
}

// lastOfControlPlane looks for a Machine of the control plane that stays. Where there is
// neither such a Machine nor a control plane that makes them, the API of the cluster is
// somewhere else, and nobody's deletion ends it.
func lastOfControlPlane(members []*machine, modelled bool) string {
	for _, m := range members {
		if !isControlPlane(m) {
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

// controlPlane reads the control plane of the Cluster, nil if there is none.
func (s *scope) controlPlane(ctx context.Context) (*unstructured.Unstructured, error) {
	ref := s.cluster.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return nil, nil
	}
	o, _, err := s.objects.Get(ctx, referenceOf(ref), s.cluster.Namespace)
	if contract.IsGone(err) {
		klog.FromContext(ctx).Info("The control plane that the Cluster names is not there", "kind", ref.Kind, "name", ref.Name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	return o, nil
}

// errNodeRead is returned while the Node of a Machine that is deleted is being read.
var errNodeRead = errors.New("the Node is being read")

// maxLateRead is how long after its deletion a Machine waits until its Node was read.
const maxLateRead = time.Minute

// findNodeLate looks once more for the Node of a Machine that is deleted before it knew its
// Node, so that this is not left behind. That it cannot be found does not keep the Machine.
func (s *scope) findNodeLate(ctx context.Context) error {
	m := s.machine
	provider := m.Spec.ProviderID
	if provider == "" && s.infra.object != nil {
		provider, _ = contract.ProviderID(s.infra.object) // A fault of it is told by the phase.
	}
	if m.Status.NodeRef.IsDefined() || provider == "" || s.workload == nil {
		return nil
	}
	nodes, err := s.workload.Nodes(provider, "")
	if errors.Is(err, workload.ErrReading) && s.now.Sub(m.DeletionTimestamp.Time) < maxLateRead {
		s.again(controller.Conflict)
		return errNodeRead
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking for the Node of a Machine that is deleted", "providerID", provider)
		return nil
	}
	if len(nodes) == 1 {
		s.node, m.Status.NodeRef.Name = &nodes[0].Node, nodes[0].Name
	}
	return nil
}
