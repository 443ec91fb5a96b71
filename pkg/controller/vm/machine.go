// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
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

// machineFacts are what is known of the Machine whose infrastructure a virtual machine is.
type machineFacts struct {
	of *belonging
	// machine and cluster are nil when they do not exist, or cannot be read for the reason.
	machine                *clusterapi.Machine
	cluster                *clusterapi.Cluster
	machineErr, clusterErr error
}

// machineFacts reads Machine and Cluster of vm from caches; nil for a virtual machine of none.
func (r *reconciler) machineFacts(vm *vmv1alpha1.VirtualMachine) *machineFacts {
	f := &machineFacts{of: belongs(vm)}
	if f.of == nil {
		return nil
	}
	if f.of.group == "" {
		return f
	}
	cluster := f.of.cluster
	if f.of.name != "" {
		f.machine, f.machineErr = r.machines.Machine(f.of.group, types.NamespacedName{Namespace: vm.Namespace, Name: f.of.name})
	}
	if f.machine != nil {
		cluster = cmp.Or(f.machine.Cluster, cluster)
	}
	if cluster != "" {
		f.cluster, f.clusterErr = r.machines.Cluster(f.of.group, types.NamespacedName{Namespace: vm.Namespace, Name: cluster})
	}
	return f
}

// owns is true when the Machine is there and vm is its infrastructure by its own word, too.
func (f *machineFacts) owns(vm *vmv1alpha1.VirtualMachine) bool {
	return f.machine != nil && f.machine.UID == f.of.uid && f.machine.Infrastructure == infrastructure(vm)
}

// infrastructure is how a Machine names vm.
func infrastructure(vm *vmv1alpha1.VirtualMachine) clusterapi.Reference {
	return clusterapi.Reference{Group: vmv1alpha1.GroupName, Kind: "VirtualMachine", Name: vm.Name}
}

// unread is true as long as it is not known what Machine and Cluster there are.
func (f *machineFacts) unread() bool {
	return f != nil && (clusterapi.Unread(f.machineErr) || clusterapi.Unread(f.clusterErr))
}

// pauses is true while nothing is to be done, and shows why. As long as the Cluster cannot be
// read, what is paused stays it.
func (p *pass) pauses(doing string) bool {
	var in *clusterapi.Cluster
	if p.machine != nil {
		in = p.machine.cluster
	}
	why := clusterapi.PausedBy(p.VM, in)
	switch {
	case why != "":
		p.paused(doing + " is paused " + why)
	case !p.machine.unread() || !isTrue(p.VM, vmv1alpha1.ConditionPaused):
		return false
	}
	summarize(p.VM)
	return true
}

// waitsFor says why vm must not be created yet; the reason is empty if it may be.
func (f *machineFacts) waitsFor(vm *vmv1alpha1.VirtualMachine) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return isFalse(reason, fmt.Sprintf(format, args...))
	}
	m, c := f.machine, f.cluster
	switch {
	case f.of.name == "":
		return no(vmv1alpha1.ReasonWaitingForMachine, "label %s says that it is made for a Machine of Cluster %q, and none owns it yet",
			clusterv1alpha1.ClusterNameLabel, f.of.cluster)
	case f.unread():
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: cmp.Or(f.machineErr, f.clusterErr).Error()}
	case f.machineErr != nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "%s", f.machineErr.Error())
	case m == nil:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s, which owns it, does not exist", f.of.name, f.of.group)
	case m.UID != f.of.uid:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s is another one than that which owns it", f.of.name, f.of.group)
	case !f.owns(vm):
		return no(vmv1alpha1.ReasonInvalid, "Machine %q of %s does not name it in spec.infrastructureRef", f.of.name, f.of.group)
	case m.Deleting:
		return no(vmv1alpha1.ReasonWaitingForMachine, "Machine %q of %s is being deleted", f.of.name, f.of.group)
	}
	if zone := cmp.Or(provider.ZoneOf(vm), vm.AsksForZone()); m.FailureDomain != "" && zone != "" && zone != m.FailureDomain {
		return no(vmv1alpha1.ReasonInvalid, "Machine %q is to be in failure domain %q, and the virtual machine in zone %q", m.Name, m.FailureDomain, zone)
	}
	switch {
	case c == nil:
		return no(vmv1alpha1.ReasonWaitingForClusterInfrastructure, "Cluster %q of %s does not exist", m.Cluster, f.of.group)
	case !c.InfrastructureProvisioned:
		return no(vmv1alpha1.ReasonWaitingForClusterInfrastructure, "status.initialization.infrastructureProvisioned of Cluster %q is not true yet", c.Name)
	case m.DataSecret == "":
		return no(vmv1alpha1.ReasonWaitingForBootstrapData, "spec.bootstrap.dataSecretName of Machine %q is not set yet", m.Name)
	}
	return metav1.Condition{}
}

// nowhere is true for a virtual machine whose Machine has yet to say where it goes, and of which
// vSphere can have nothing.
func (p *pass) nowhere() bool {
	return p.machine != nil && !isTrue(p.VM, vmv1alpha1.ConditionMachineReady) && !isTrue(p.VM, vmv1alpha1.ConditionCreated) &&
		p.VM.Spec.InstanceUUID == "" && provider.ZoneOf(p.VM) == ""
}

// zone is the one that the Machine of vm is to be in; empty for any.
func (f *machineFacts) zone(vm *vmv1alpha1.VirtualMachine) string {
	if f == nil || !f.owns(vm) {
		return ""
	}
	return f.machine.FailureDomain
}
