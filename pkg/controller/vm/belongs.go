// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
)

// Indexes of the virtual machine cache by what belonging says.
const (
	// indexByMachine has those that belong to a Machine, by that and by its group.
	indexByMachine = "machine"
	// indexByCluster has them by the name of the Cluster.
	indexByCluster = "cluster"
)

// machineKind is that of Machines in both groups.
const machineKind = "Machine"

// belonging is what the metadata of a virtual machine says of the Machine whose infrastructure
// it is. Anybody may have written it who may write the virtual machine.
type belonging struct {
	// group of the Machine; empty as long as nothing says which.
	group string
	// name and uid of the Machine that owns it; empty as long as none does.
	name string
	uid  types.UID
	// cluster is the name of the Cluster by the label, which may be missing.
	cluster string
}

// belongs returns nil for a virtual machine of no Machine. One without an owner that is a Machine
// is made for one if the label names a Cluster: whoever makes it first (a MachineSet, a control
// plane, a user) owns it until its Machine does.
func belongs(vm *vmv1alpha1.VirtualMachine) *belonging {
	of := &belonging{cluster: vm.Labels[clusterv1alpha1.ClusterNameLabel]}
	for i := range vm.OwnerReferences {
		o := &vm.OwnerReferences[i]
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		switch {
		case err != nil:
		case clusterapi.Is(gv.Group) && o.Kind == machineKind && o.Controller != nil && *o.Controller:
			of.group, of.name, of.uid = gv.Group, o.Name, o.UID
			return of
		case gv.Group == clusterv1alpha1.GroupName:
			of.group = gv.Group
		case gv.Group == clusterapi.Group, strings.HasSuffix(gv.Group, "."+clusterapi.Group):
			of.group = clusterapi.Group
		}
	}
	if of.cluster == "" {
		return nil
	}
	return of
}

// byMachine are the values of indexByMachine.
func byMachine(vm *vmv1alpha1.VirtualMachine) []string {
	of := belongs(vm)
	switch {
	case of == nil || of.group == "":
		return nil
	case of.name == "":
		return []string{of.group}
	}
	return []string{of.group, machineValue(of.group, types.NamespacedName{Namespace: vm.Namespace, Name: of.name})}
}

// machineValue is the value of indexByMachine for one Machine.
func machineValue(group string, machine types.NamespacedName) string {
	return group + "/" + machine.String()
}

// byCluster are the values of indexByCluster.
func byCluster(vm *vmv1alpha1.VirtualMachine) []string {
	if of := belongs(vm); of != nil && of.cluster != "" {
		return []string{types.NamespacedName{Namespace: vm.Namespace, Name: of.cluster}.String()}
	}
	return nil
}

// machines handles the events of Machines and Clusters.
func (e *enqueuer) machines() clusterapi.Handlers {
	return clusterapi.Handlers{
		Machine: func(group string, key types.NamespacedName) { e.Referring(indexByMachine, machineValue(group, key)) },
		Cluster: func(_ string, key types.NamespacedName) { e.Referring(indexByCluster, key.String()) },
		Group:   func(group string) { e.Referring(indexByMachine, group) },
	}
}
