// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestHandlers_MachinesAndClustersQueueTheirVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := func(apiVersion, kind, cluster string) func(*vmv1alpha1.VirtualMachine) {
			return func(vm *vmv1alpha1.VirtualMachine) {
				vm.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: cluster}
				vm.OwnerReferences = []metav1.OwnerReference{ownedBy(apiVersion, kind, true)}
			}
		}
		const theirs = "cluster.x-k8s.io/v1beta2"
		a := assemble(t, fresh(named("nobodys")), fresh(named("node"), of(theirs, "Machine", "c")), fresh(named("to-come"), of(theirs, "MachineSet", "c")),
			fresh(named("elsewhere"), of(theirs, "MachineSet", "d")), fresh(named("ours"), of(clusterv1alpha1.SchemeGroupVersion.String(), "Machine", "d")))
		a.watch(t)
		a.drain()
		machines := a.deps.Machines.(*fakeMachines).handlers
		key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
		for name, tc := range map[string]struct {
			tell func()
			want []string
		}{
			"a Machine": {func() { machines.Machine("cluster.x-k8s.io", key("m")) }, []string{"node"}},
			"a Machine of Slipway with the same name": {func() { machines.Machine("cluster.slipway.dev", key("m")) }, []string{"ours"}},
			"a Machine of another namespace":          {func() { machines.Machine("cluster.x-k8s.io", types.NamespacedName{Namespace: "other", Name: "m"}) }, nil},
			"a Cluster":                               {func() { machines.Cluster("cluster.x-k8s.io", key("c")) }, []string{"node", "to-come"}},
			"all of an API group":                     {func() { machines.Group("cluster.x-k8s.io") }, []string{"elsewhere", "node", "to-come"}},
		} {
			tc.tell()
			var got []string
			for _, h := range byNameOf(a.drain()) {
				if h.Priority != PriorityCreating {
					t.Errorf("%s queues %s with priority %d, want the priority of its state", name, h.Name, h.Priority)
				}
				got = append(got, h.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s wakes (-want +got):\n%s", name, diff)
			}
		}
	})
}
