// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

type machine = clusterv1alpha1.Machine

// Order determines which of several equally healthy Machines is deleted first.
type Order = clusterv1alpha1.MachineSetDeletionOrder

// rank is the deletion priority of a Machine. The lowest is deleted first.
type rank int

const (
	// deleting Machines are already being deleted. Choosing them first avoids deleting one too many.
	deleting rank = iota
	// markedForDeletion Machines have DeleteMachineAnnotation.
	markedForDeletion
	// unhealthy Machines have no Node, an unhealthy Node, or a failed health check.
	unhealthy
	// unready Machines have a Node and are not Ready.
	unready
	healthy
)

func rankOf(m *machine) rank {
	_, isMarked := m.Annotations[clusterv1alpha1.DeleteMachineAnnotation]
	switch {
	case m.DeletionTimestamp != nil:
		return deleting
	case isMarked:
		return markedForDeletion
	case !m.Status.NodeRef.IsDefined(), isFalse(m, clusterv1alpha1.MachineNodeHealthyCondition), IsUnhealthy(m):
		return unhealthy
	case !conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.ReadyCondition):
		return unready
	}
	return healthy
}

// FirstToDelete returns the n Machines to delete first: those being deleted, marked, unhealthy, not Ready, and then by order.
// With order Random they are sorted by name, so that repeated calls return the same Machines.
func FirstToDelete(all []*machine, n int, order Order) []*machine {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *machine) int {
		if by := int(rankOf(a)) - int(rankOf(b)); by != 0 {
			return by
		}
		if by := compareAge(a, b, order); by != 0 {
			return by
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sorted[:max(min(n, len(sorted)), 0)]
}

func compareAge(a, b *machine, order Order) int {
	older := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	switch order {
	case clusterv1alpha1.OldestMachineSetDeletionOrder:
		return older
	case clusterv1alpha1.NewestMachineSetDeletionOrder:
		return -older
	case clusterv1alpha1.RandomMachineSetDeletionOrder:
	}
	return 0
}

// IsUnhealthy reports whether a Machine failed its health check.
func IsUnhealthy(m *machine) bool {
	return isFalse(m, clusterv1alpha1.MachineHealthCheckSucceededCondition)
}

// NeedsRemediation reports whether a Machine failed its health check and its owner must replace it.
func NeedsRemediation(m *machine) bool {
	return IsUnhealthy(m) && isFalse(m, clusterv1alpha1.MachineOwnerRemediatedCondition)
}

func isFalse(m *machine, conditionType string) bool {
	c := conditions.Find(m.Status.Conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionFalse
}
