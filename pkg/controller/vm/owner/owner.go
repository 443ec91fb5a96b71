// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner determines the Machine that a virtual machine is the infrastructure of. It uses the virtual machine's
// metadata and reads the Machine and its Cluster.
package owner

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Machines reads Machines and Clusters. clusterapi.Reader implements it.
type Machines interface {
	// Machine returns the relevant fields of a Machine, or nil if it does not exist.
	Machine(group string, key types.NamespacedName) (*clusterapi.Machine, error)
	// Cluster returns the relevant fields of a Cluster, or nil if it does not exist.
	Cluster(group string, key types.NamespacedName) (*clusterapi.Cluster, error)
	// Watch calls the handlers for changes of Machines and Clusters that were read.
	Watch(clusterapi.Handlers)
}

// machineKind is the kind of Machines in both groups.
const machineKind = "Machine"

// MachineReference is the reference to a Machine in the metadata of a virtual machine. Any user who may write the virtual
// machine may have written it.
type MachineReference struct {
	// Group is the API group of the Machine. It is empty if it is not known.
	Group string
	// Name and UID identify the owning Machine. They are empty if no Machine owns the virtual machine.
	Name string
	UID  types.UID
	// Cluster is the Cluster's name in the label, which may be missing.
	Cluster string
}

// ReferenceOf returns the reference to the Machine of vm, or nil if vm does not belong to a Machine. If no Machine owns
// vm but its label has a Cluster, vm was created for a Machine that does not own it yet. Until it does, the creator
// owns vm: a MachineSet, a control plane or a user.
func ReferenceOf(vm *vmv1alpha1.VirtualMachine) *MachineReference {
	of := &MachineReference{Cluster: vm.Labels[clusterv1alpha1.ClusterNameLabel]}
	for i := range vm.OwnerReferences {
		o := &vm.OwnerReferences[i]
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		switch {
		case err != nil:
		case clusterapi.IsClusterGroup(gv.Group) && o.Kind == machineKind && o.Controller != nil && *o.Controller:
			of.Group, of.Name, of.UID = gv.Group, o.Name, o.UID
			return of
		case gv.Group == clusterv1alpha1.GroupName:
			of.Group = gv.Group
		case gv.Group == clusterapi.Group, strings.HasSuffix(gv.Group, "."+clusterapi.Group):
			of.Group = clusterapi.Group
		}
	}
	if of.Cluster == "" {
		return nil
	}
	return of
}

// MachineState has the Machine that a virtual machine is the infrastructure of, and its Cluster.
type MachineState struct {
	MachineReference
	// Machine and Cluster are nil if they do not exist or could not be read. The errors have the reason.
	Machine                *clusterapi.Machine
	Cluster                *clusterapi.Cluster
	machineErr, clusterErr error
}

// Read reads the Machine and the Cluster of vm from caches. It returns nil if vm does not belong to a Machine.
func Read(machines Machines, vm *vmv1alpha1.VirtualMachine) *MachineState {
	of := ReferenceOf(vm)
	if of == nil {
		return nil
	}
	f := &MachineState{MachineReference: *of}
	if of.Group == "" {
		return f
	}
	cluster := of.Cluster
	if of.Name != "" {
		f.Machine, f.machineErr = machines.Machine(of.Group, types.NamespacedName{Namespace: vm.Namespace, Name: of.Name})
	}
	if f.Machine != nil {
		cluster = cmp.Or(f.Machine.Cluster, cluster)
	}
	if cluster != "" {
		f.Cluster, f.clusterErr = machines.Cluster(of.Group, types.NamespacedName{Namespace: vm.Namespace, Name: cluster})
	}
	return f
}

// Owns reports whether the Machine exists and its infrastructureRef refers to vm.
func (f *MachineState) Owns(vm *vmv1alpha1.VirtualMachine) bool {
	return f != nil && f.Machine != nil && f.Machine.UID == f.UID &&
		f.Machine.Infrastructure == clusterapi.Reference{Group: vmv1alpha1.GroupName, Kind: "VirtualMachine", Name: vm.Name}
}

// isUnread reports whether the Machine or the Cluster could not be read yet.
func (f *MachineState) isUnread() bool {
	return clusterapi.IsUnread(f.machineErr) || clusterapi.IsUnread(f.clusterErr)
}

// PausedBy reports whether vm is paused, and by which object. While the Cluster cannot be read, a paused virtual machine
// stays paused and by is empty.
func (f *MachineState) PausedBy(vm *vmv1alpha1.VirtualMachine) (paused bool, by string) {
	if f == nil {
		by = clusterapi.PausedBy(vm, nil)
		return by != "", by
	}
	by = clusterapi.PausedBy(vm, f.Cluster)
	return by != "" || f.isUnread() && conditions.IsTrue(vm.Status.Conditions, vmv1alpha1.ConditionPaused), by
}

// WaitCondition returns a condition that shows why vm must not be created yet. Its reason is empty if vm can be created.
func (f *MachineState) WaitCondition(vm *vmv1alpha1.VirtualMachine) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	m, c := f.Machine, f.Cluster
	switch {
	case f.Name == "":
		return no(vmv1alpha1.ReasonWaitingForMachine, "label %s assigns the virtual machine to Cluster %q, but no Machine owns it yet",
			clusterv1alpha1.ClusterNameLabel, f.MachineReference.Cluster)
	case f.isUnread():
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: cmp.Or(f.machineErr, f.clusterErr).Error()}
	case f.machineErr != nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "%s", f.machineErr.Error())
	case m == nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s, which owns the virtual machine, does not exist", f.Name, f.Group)
	case m.UID != f.UID:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s has another UID than the Machine that owns the virtual machine", f.Name, f.Group)
	case !f.Owns(vm):
		return no(vmv1alpha1.ReasonInvalid, "spec.infrastructureRef of Machine %q of %s does not refer to the virtual machine", f.Name, f.Group)
	case m.Deleting:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s is being deleted", f.Name, f.Group)
	}
	if zone := cmp.Or(provider.ZoneOf(vm), vm.RequestedZone()); m.FailureDomain != "" && zone != "" && zone != m.FailureDomain {
		return no(vmv1alpha1.ReasonInvalid, "Machine %q requires failure domain %q, but the zone of the virtual machine is %q", m.Name, m.FailureDomain, zone)
	}
	switch {
	case c == nil:
		return no(vmv1alpha1.ReasonWaitingForClusterInfrastructure, "Cluster %q of %s does not exist", m.Cluster, f.Group)
	case !c.InfrastructureProvisioned:
		return no(vmv1alpha1.ReasonWaitingForClusterInfrastructure, "status.initialization.infrastructureProvisioned of Cluster %q is not true yet", c.Name)
	case m.DataSecret == "":
		return no(vmv1alpha1.ReasonWaitingForBootstrapData, "spec.bootstrap.dataSecretName of Machine %q is not set yet", m.Name)
	}
	return metav1.Condition{}
}

// Zone returns the failure domain that the Machine of vm requires. It is empty if it requires none.
func (f *MachineState) Zone(vm *vmv1alpha1.VirtualMachine) string {
	if !f.Owns(vm) {
		return ""
	}
	return f.Machine.FailureDomain
}
