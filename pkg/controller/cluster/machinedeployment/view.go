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

// view is a MachineSet with its Machines and its planned replicas.
type view struct {
	// set is the stored object. A MachineSet that is to be created has no UID.
	set      *set
	machines []*machine
	// replicas are the planned replicas.
	replicas int32
	// staying[n] is the number of available Machines among the n that would remain after scaling down to n.
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

// waits reports whether a Machine is Ready and becomes available after minReadySeconds.
func (v *view) waits() bool {
	return slices.ContainsFunc(v.machines, func(m *machine) bool {
		return m.DeletionTimestamp == nil && !members.Available(m) && conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.ReadyCondition)
	})
}

// spec returns the current spec.replicas, count the number of Machines.
func (v *view) spec() int32  { return ptr.Deref(v.set.Spec.Replicas, 0) }
func (v *view) count() int32 { return int32(len(v.machines)) }

// available returns how many Machines are available after scaling to replicas.
func (v *view) available(replicas int32) int32 {
	return v.staying[max(min(replicas, v.count()), 0)]
}

// most returns the larger of the planned replicas and the number of Machines.
func (v *view) most() int32 { return max(v.replicas, v.count()) }

func (v *view) revision() int64 {
	n, err := strconv.ParseInt(v.set.Annotations[clusterv1alpha1.RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// annotated returns the number in an annotation that a previous plan has set.
func (v *view) annotated(key string) (int32, bool) {
	n, err := strconv.ParseInt(v.set.Annotations[key], 10, 32)
	return int32(n), err == nil
}

// older orders MachineSets by age, the oldest first.
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
