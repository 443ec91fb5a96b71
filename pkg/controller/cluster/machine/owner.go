// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// setOwnership sets the cluster label of a Machine. It adds the Cluster as an owner of a standalone Machine.
func setOwnership(s *step.State) {
	if s.Cluster != nil && isStandalone(s.Machine) {
		members.AddOwner(s.Machine, s.Cluster)
	}
	members.SetClusterLabel(s.Machine, s.Machine.Spec.ClusterName)
}

// isStandalone reports whether a Machine has no controller and no label of one. A Machine with such a label is adopted
// by its controller again after a restore.
func isStandalone(m *machine) bool {
	if metav1.GetControllerOf(m) != nil {
		return false
	}
	for _, label := range []string{clusterv1alpha1.MachineSetNameLabel, clusterv1alpha1.MachinePoolNameLabel, clusterv1alpha1.MachineControlPlaneNameLabel} {
		if _, ok := m.Labels[label]; ok {
			return false
		}
	}
	return true
}

// ownerName returns the name of an owner of a kind, or "" if there is none. It need not be the controller.
func ownerName(o metav1.Object, kind string) string {
	owners := o.GetOwnerReferences()
	i := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return step.IsOwnKind(o, kind) })
	if i < 0 {
		return ""
	}
	return owners[i].Name
}
