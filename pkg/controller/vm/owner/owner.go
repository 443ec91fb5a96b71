// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner has what is known of the Machine whose infrastructure a virtual machine is: what the metadata of the
// virtual machine says of it, and the Machine and its Cluster as they were read.
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

// Machines reads Machines and Clusters; clusterapi.Reader is one.
type Machines interface {
	// Machine returns what counts of a Machine, nil for one that does not exist.
	Machine(group string, key types.NamespacedName) (*clusterapi.Machine, error)
	// Cluster returns what counts of a Cluster, nil for one that does not exist.
	Cluster(group string, key types.NamespacedName) (*clusterapi.Cluster, error)
	// Watch tells of changes from when they are read on.
	Watch(clusterapi.Handlers)
}

// machineKind is that of Machines in both groups.
const machineKind = "Machine"

// Belonging is what the metadata of a virtual machine says of the Machine whose infrastructure
// it is. Anybody may have written it who may write the virtual machine.
type Belonging struct {
	// Group of the Machine; empty as long as nothing says which.
	Group string
	// Name and UID of the Machine that owns it; empty as long as none does.
	Name string
	UID  types.UID
	// Cluster is the name of the Cluster by the label, which may be missing.
	Cluster string
}

// Belongs returns nil for a virtual machine of no Machine. One without an owner that is a Machine
// is made for one if the label names a Cluster: whoever makes it first (a MachineSet, a control
// plane, a user) owns it until its Machine does.
func Belongs(vm *vmv1alpha1.VirtualMachine) *Belonging {
	of := &Belonging{Cluster: vm.Labels[clusterv1alpha1.ClusterNameLabel]}
	for i := range vm.OwnerReferences {
		o := &vm.OwnerReferences[i]
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		switch {
		case err != nil:
		case clusterapi.Is(gv.Group) && o.Kind == machineKind && o.Controller != nil && *o.Controller:
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

// Facts are what is known of the Machine whose infrastructure a virtual machine is.
type Facts struct {
	Belonging
	// Machine and Cluster are nil when they do not exist, or cannot be read for the reason.
	Machine                *clusterapi.Machine
	Cluster                *clusterapi.Cluster
	machineErr, clusterErr error
}

// Read reads Machine and Cluster of vm from caches; nil for a virtual machine of none.
func Read(machines Machines, vm *vmv1alpha1.VirtualMachine) *Facts {
	of := Belongs(vm)
	if of == nil {
		return nil
	}
	f := &Facts{Belonging: *of}
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

// Owns reports whether the Machine is there and vm is its infrastructure by its own word, too.
func (f *Facts) Owns(vm *vmv1alpha1.VirtualMachine) bool {
	return f != nil && f.Machine != nil && f.Machine.UID == f.UID &&
		f.Machine.Infrastructure == clusterapi.Reference{Group: vmv1alpha1.GroupName, Kind: "VirtualMachine", Name: vm.Name}
}

// unread is true as long as it is not known what Machine and Cluster there are.
func (f *Facts) unread() bool {
	return clusterapi.Unread(f.machineErr) || clusterapi.Unread(f.clusterErr)
}

// Paused reports whether nothing is to be done for vm, and by what it is paused. While the Cluster cannot be read, a
// paused virtual machine stays paused, and by is empty.
func (f *Facts) Paused(vm *vmv1alpha1.VirtualMachine) (paused bool, by string) {
	if f == nil {
		by = clusterapi.PausedBy(vm, nil)
		return by != "", by
	}
	by = clusterapi.PausedBy(vm, f.Cluster)
	return by != "" || f.unread() && conditions.IsTrue(vm.Status.Conditions, vmv1alpha1.ConditionPaused), by
}

// WaitsFor returns why vm must not be created yet; the reason is empty if it may be.
func (f *Facts) WaitsFor(vm *vmv1alpha1.VirtualMachine) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	m, c := f.Machine, f.Cluster
	switch {
	case f.Name == "":
		return no(vmv1alpha1.ReasonWaitingForMachine, "label %s says that it is made for a Machine of Cluster %q, and none owns it yet",
			clusterv1alpha1.ClusterNameLabel, f.Belonging.Cluster)
	case f.unread():
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: cmp.Or(f.machineErr, f.clusterErr).Error()}
	case f.machineErr != nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "%s", f.machineErr.Error())
	case m == nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s, which owns it, does not exist", f.Name, f.Group)
	case m.UID != f.UID:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s is another one than that which owns it", f.Name, f.Group)
	case !f.Owns(vm):
		return no(vmv1alpha1.ReasonInvalid, "Machine %q of %s does not name it in spec.infrastructureRef", f.Name, f.Group)
	case m.Deleting:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s is being deleted", f.Name, f.Group)
	}
	if zone := cmp.Or(provider.ZoneOf(vm), vm.AsksForZone()); m.FailureDomain != "" && zone != "" && zone != m.FailureDomain {
		return no(vmv1alpha1.ReasonInvalid, "Machine %q is to be in failure domain %q, and the virtual machine in zone %q", m.Name, m.FailureDomain, zone)
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

// Zone returns the one that the Machine of vm is to be in; empty for any.
func (f *Facts) Zone(vm *vmv1alpha1.VirtualMachine) string {
	if !f.Owns(vm) {
		return ""
	}
	return f.Machine.FailureDomain
}
