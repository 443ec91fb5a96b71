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

// view is a set, the Machines that it counts, and how many it is to have.
type view struct {
	// set is as it is stored; one that is to be made has no UID.
	set      *set
	machines []*machine
	// replicas are those of the plan.
	replicas int32
	// staying is, by their number, how many of the Machines that would stay are available.
	staying []int32
}

func newView(s *set, machines []*machine) *view {
	v := &view{set: s, machines: machines, replicas: ptr.Deref(s.Spec.Replicas, 0), staying: make([]int32, len(machines)+1)}
	gone := members.First(machines, len(machines), s.Spec.Deletion.Order)
	for n := 1; n <= len(gone); n++ {
		v.staying[n] = v.staying[n-1]
		if members.Available(gone[len(gone)-n]) {
			v.staying[n]++
		}
	}
	return v
}

// waits is true while a Machine of the set is Ready and has only to stay so to be available.
func (v *view) waits() bool {
	return slices.ContainsFunc(v.machines, func(m *machine) bool {
		return m.DeletionTimestamp == nil && !members.Available(m) && conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.ReadyCondition)
	})
}

// spec is how many Machines the set wants now, count how many it has.
func (v *view) spec() int32  { return ptr.Deref(v.set.Spec.Replicas, 0) }
func (v *view) count() int32 { return int32(len(v.machines)) }

// available is how many Machines are when the set has replicas of them.
func (v *view) available(replicas int32) int32 {
	return v.staying[max(min(replicas, v.count()), 0)]
}

// most is how many Machines the set has, or will have when it has done what the plan says.
func (v *view) most() int32 { return max(v.replicas, v.count()) }

func (v *view) revision() int64 {
	n, err := strconv.ParseInt(v.set.Annotations[clusterv1alpha1.RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// annotated is a number that a plan before left at the set.
func (v *view) annotated(key string) (int32, bool) {
	n, err := strconv.ParseInt(v.set.Annotations[key], 10, 32)
	return int32(n), err == nil
}

// older is the order of sets by age, the oldest first.
func older(a, b *view) int {
	if by := a.set.CreationTimestamp.Compare(b.set.CreationTimestamp.Time); by != 0 {
		return by
	}
	return strings.Compare(a.set.Name, b.set.Name)
}

func sum(views []*view, of func(*view) int32) int32 {
	var n int32
	for _, v := range views {
		n += of(v)
	}
	return n
}
