// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

type (
	deployment = clusterv1alpha1.MachineDeployment
	set        = clusterv1alpha1.MachineSet
	machine    = clusterv1alpha1.Machine
)

// setState is a MachineSet with its Machines and its planned replicas.
type setState struct {
	// set is the stored object. A MachineSet that is to be created has no UID.
	set      *set
	machines []*machine
	// replicas are the planned replicas.
	replicas int32
	// availableAt[n] is the number of available Machines among the n that would remain after scaling down to n.
	availableAt []int32
}

func newSetState(s *set, machines []*machine) *setState {
	v := &setState{set: s, machines: machines, replicas: ptr.Deref(s.Spec.Replicas, 0), availableAt: make([]int32, len(machines)+1)}
	ordered := members.FirstToDelete(machines, len(machines), s.Spec.Deletion.Order)
	for n := 1; n <= len(ordered); n++ {
		v.availableAt[n] = v.availableAt[n-1]
		if members.IsAvailable(ordered[len(ordered)-n]) {
			v.availableAt[n]++
		}
	}
	return v
}

// isWaiting reports whether a Machine is Ready and becomes available after minReadySeconds.
func (v *setState) isWaiting() bool {
	return slices.ContainsFunc(v.machines, func(m *machine) bool {
		return m.DeletionTimestamp == nil && !members.IsAvailable(m) && conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.ReadyCondition)
	})
}

// specReplicas returns the current spec.replicas, count the number of Machines.
func (v *setState) specReplicas() int32 { return ptr.Deref(v.set.Spec.Replicas, 0) }
func (v *setState) machineCount() int32 { return int32(len(v.machines)) }

// available returns how many Machines are available after scaling to replicas.
func (v *setState) available(replicas int32) int32 {
	return v.availableAt[max(min(replicas, v.machineCount()), 0)]
}

// maxReplicas returns the larger of the planned replicas and the number of Machines.
func (v *setState) maxReplicas() int32 { return max(v.replicas, v.machineCount()) }

func (v *setState) revision() int64 {
	n, err := strconv.ParseInt(v.set.Annotations[clusterv1alpha1.RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// annotation returns the number in an annotation that a previous plan has set.
func (v *setState) annotation(key string) (int32, bool) {
	n, err := strconv.ParseInt(v.set.Annotations[key], 10, 32)
	return int32(n), err == nil
}

// compareAge orders MachineSets by age, the oldest first.
func compareAge(a, b *setState) int {
	if by := a.set.CreationTimestamp.Compare(b.set.CreationTimestamp.Time); by != 0 {
		return by
	}
	return strings.Compare(a.set.Name, b.set.Name)
}

func sum(setStates []*setState, of func(*setState) int32) int32 {
	var n int32
	for _, v := range setStates {
		n += of(v)
	}
	return n
}
