// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// clusterServicesPrefix is the name prefix of the VMs of vSphere Cluster Services (VMware KB 80472).
const clusterServicesPrefix = "vCLS"

// Orphaned returns why a VM is not adopted that belongs to an object which does not exist: its
// owner key stays that of the object, which a recovery creates again with the same UID.
func Orphaned(owner apitypes.NamespacedName) string {
	return fmt.Sprintf("it belongs to VirtualMachine %s, which does not exist: recreate the object with virtctl recover -n %s %s",
		owner, owner.Namespace, owner.Name)
}

// OwnerOf returns the object that a VM belongs to, false for none.
func OwnerOf(m *Machine) (apitypes.NamespacedName, bool) {
	owner, ok := observe.OwnerOf(m.VM)
	return owner.Key, ok
}

// Skip returns why a VM cannot be adopted, or an empty string.
func Skip(m *Machine) string {
	vm := m.VM
	switch {
	case vm.Config == nil:
		return "its configuration cannot be read"
	case strings.HasPrefix(vm.Name, clusterServicesPrefix):
		return "it is a system VM of vSphere Cluster Services"
	case vm.Config.Template:
		return "it is a template: use it as a VirtualMachineImage"
	case vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected:
		return "it is " + string(vm.Runtime.ConnectionState)
	case vm.Config.InstanceUuid == "":
		return "it has no instance UUID"
	case vm.Config.FtInfo != nil:
		return "it uses fault tolerance, which Slipway does not support"
	}
	if owner, ok := observe.OwnerOf(vm); ok {
		return fmt.Sprintf("it already belongs to VirtualMachine %s", owner.Key)
	}
	if observe.ExtraConfig(vm, observe.OwnerKey) != "" {
		return "its setting " + observe.OwnerKey + " specifies another owner"
	}
	if by := vm.Config.ManagedBy; by != nil {
		return "it is managed by another product: " + by.ExtensionKey
	}
	return ""
}

// Twins returns the VMs that share an instance UUID with another one, with the reason why they cannot be adopted:
// the UUID does not identify one VM.
func Twins(machines []*Machine) map[*Machine]string {
	first, out := map[string]*Machine{}, map[*Machine]string{}
	for _, m := range machines {
		if m.VM.Config == nil || m.VM.Config.InstanceUuid == "" {
			continue
		}
		id := strings.ToLower(m.VM.Config.InstanceUuid)
		other := first[id]
		if other == nil {
			first[id] = m
			continue
		}
		out[m] = fmt.Sprintf("it has the instance UUID of %s", other.Path)
		out[other] = fmt.Sprintf("it has the instance UUID of %s", m.Path)
	}
	return out
}
