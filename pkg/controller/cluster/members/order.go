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

// Order says which of Machines that are equally well goes first.
type Order = clusterv1alpha1.MachineSetDeletionOrder

// rank is how early a Machine goes, the lowest first.
type rank int

const (
	// deleting goes already: another one in its place would be one too many.
	deleting rank = iota
	// marked is by DeleteMachineAnnotation.
	marked
	// unwell has no Node, or one with a bad condition, or failed its health check.
	unwell
	// unready has a Node and is not Ready.
	unready
	well
)

func rankOf(m *machine) rank {
	_, isMarked := m.Annotations[clusterv1alpha1.DeleteMachineAnnotation]
	switch {
	case m.DeletionTimestamp != nil:
		return deleting
	case isMarked:
		return marked
	case !m.Status.NodeRef.IsDefined(), isFalse(m, clusterv1alpha1.MachineNodeHealthyCondition), Unhealthy(m):
		return unwell
	case !conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.ReadyCondition):
		return unready
	}
	return well
}

// First returns the n of all that go first, in that order: those that go already, those that
// are marked to go, those that are not well, those that are not Ready, and then by order.
// Random takes them by name, so that it is the same choice when it is made again.
func First(all []*machine, n int, order Order) []*machine {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *machine) int {
		if by := int(rankOf(a)) - int(rankOf(b)); by != 0 {
			return by
		}
		if by := byAge(a, b, order); by != 0 {
			return by
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sorted[:max(min(n, len(sorted)), 0)]
}

func byAge(a, b *machine, order Order) int {
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

// Unhealthy is true for a Machine that failed its health check.
func Unhealthy(m *machine) bool {
	return isFalse(m, clusterv1alpha1.MachineHealthCheckSucceededCondition)
}

// ToRemediate is true for one whose owner shall replace it for that.
func ToRemediate(m *machine) bool {
	return Unhealthy(m) && isFalse(m, clusterv1alpha1.MachineOwnerRemediatedCondition)
}

func isFalse(m *machine, kind string) bool {
	c := conditions.Find(m.Status.Conditions, kind)
	return c != nil && c.Status == metav1.ConditionFalse
}
