// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// Kinds of owners.
const (
	machineKind    = "Machine"
	machineSetKind = "MachineSet"
)

// reconcileOwner makes the Cluster an owner of a Machine that nobody made for it, and gives
// every Machine the label of its Cluster.
func (s *scope) reconcileOwner(context.Context) error {
	if s.cluster != nil && standsAlone(s.machine) {
		members.Own(s.machine, s.cluster)
	}
	members.Label(s.machine, s.machine.Spec.ClusterName)
	return nil
}

// standsAlone is true for a Machine that nothing controls, and that nothing has made: what
// carries the label of its maker is left to that, which takes it back after a restore.
func standsAlone(m *machine) bool {
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

// isOurs is true for an owner of a kind of our group, in whatever version.
func isOurs(o metav1.OwnerReference, kind string) bool {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && gv.Group == clusterv1alpha1.GroupName && o.Kind == kind
}

// ownerName is the name of an owner of a kind, whether it controls the object or not.
func ownerName(o metav1.Object, kind string) string {
	owners := o.GetOwnerReferences()
	i := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return isOurs(o, kind) })
	if i < 0 {
		return ""
	}
	return owners[i].Name
}
