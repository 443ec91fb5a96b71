// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// byMAC returns the values of indexByMAC: the MAC addresses in the spec and of the adapters.
func byMAC(vm *vmv1alpha1.VirtualMachine) []string {
	var all []string
	add := func(mac string) {
		if mac = strings.ToLower(mac); mac != "" && !slices.Contains(all, mac) {
			all = append(all, mac)
		}
	}
	if n := vm.Spec.Network; n != nil && !n.Disabled {
		for i := range n.Interfaces {
			add(n.Interfaces[i].MACAddress)
		}
	}
	if n := vm.Status.Network; n != nil {
		for i := range n.Interfaces {
			add(n.Interfaces[i].MACAddress)
		}
	}
	return all
}

// checkMACs reports MAC addresses that other VMs also use, on any network. vCenter reports duplicates in the same way
// (VmStaticMacConflictEvent). The names of VMs in other namespaces are not shown.
func (r *reconciler) checkMACs(p *reconciliation) error {
	var conflicts []string
	for _, mac := range byMAC(p.VM) {
		found, err := r.vms.ByIndex(indexByMAC, mac)
		if err != nil {
			return fmt.Errorf("looking for virtual machines with the MAC address %s: %w", mac, err)
		}
		var names []string
		elsewhere := false
		for _, other := range found {
			switch {
			case other.UID == p.VM.UID:
			case other.Namespace == p.VM.Namespace:
				names = append(names, fmt.Sprintf("VirtualMachine %q", other.Name))
			default:
				elsewhere = true
			}
		}
		slices.Sort(names)
		if elsewhere {
			names = append(names, "a VirtualMachine in another namespace")
		}
		if len(names) > maxMACOwners {
			names = append(names[:maxMACOwners], fmt.Sprintf("%d more", len(names)-maxMACOwners))
		}
		if len(names) > 0 {
			conflicts = append(conflicts, mac+" (also of "+strings.Join(names, ", ")+")")
		}
	}
	if len(conflicts) == 0 {
		p.Remove(vmv1alpha1.ConditionMACAddressesUnique)
		return nil
	}
	p.False(vmv1alpha1.ConditionMACAddressesUnique, vmv1alpha1.ReasonConflict,
		"other virtual machines have the same MAC addresses: "+strings.Join(conflicts, "; ")+"; set another macAddress, or none, in all but one")
	return nil
}

// maxMACOwners is the maximum number of VMs that a message lists for one MAC address.
const maxMACOwners = 3

// macHandler returns a handler of the events of VMs that get or lose a MAC address. It queues other VMs with the same
// address, because their condition changes.
func (e *enqueuer) macHandler() cache.ResourceEventHandler {
	changed := func(vm *vmv1alpha1.VirtualMachine, macs, but []string) {
		for _, mac := range macs {
			if slices.Contains(but, mac) {
				continue
			}
			found, err := e.Objects.ByIndex(indexByMAC, mac)
			if err != nil {
				continue // only for an index that does not exist
			}
			for _, other := range found {
				if other.UID != vm.UID {
					e.EnqueueGeneric(controller.KeyOf(other))
				}
			}
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if vm := obj.(*vmv1alpha1.VirtualMachine); !isInInitialList {
				changed(vm, byMAC(vm), nil)
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			before, after := byMAC(old), byMAC(vm)
			changed(vm, before, after)
			changed(vm, after, before)
		},
		DeleteFunc: func(obj any) {
			if vm, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				changed(vm, byMAC(vm), nil)
			}
		},
	}
}
