// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Observe returns the observation of vm with the volume and interface names of w. hostName resolves the name of a
// host.
func Observe(vm *mo.VirtualMachine, w *driver.Desired, hostName func(vimtypes.ManagedObjectReference) string) provider.Observation {
	o := observe.Of(vm, hostName)
	if !o.Readable {
		return o
	}
	nameInterfaces(&o, vm, w)
	if o.Network != nil {
		observe.PreferPrimary(o.Network, append(desiredAddresses(w), w.PrimaryAddresses...))
	}
	o.Volumes = volumes(vm, w)
	for _, name := range w.GuestInfo {
		if value := observe.ExtraConfig(vm, guestInfoPrefix+name); value != "" {
			if o.GuestInfo == nil {
				o.GuestInfo = map[string]string{}
			}
			o.GuestInfo[name] = value
		}
	}
	if !customizes(vm, w) {
		o.Set(metav1.Condition{Type: vmv1alpha1.ConditionGuestCustomized}) // The customization was requested by another client.
	}
	o.Set(observe.BootstrapCondition(vm, w.Identity.UID, bootstrapOf(w)))
	o.Set(promotionCondition(o.DependentDisks, w.NoPromotion))
	return o
}

// promotionCondition returns the condition that reports whether disks still have a parent in another directory.
func promotionCondition(depending int, disabled bool) metav1.Condition {
	switch {
	case disabled:
		return metav1.Condition{Type: vmv1alpha1.ConditionDiskPromotionSynced}
	case depending > 0:
		return falseCondition(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionPending, fmt.Sprintf("%d disk(s) depend on parent disks outside the virtual machine", depending))
	}
	return trueCondition(vmv1alpha1.ConditionDiskPromotionSynced)
}

// customizes reports whether the object has requested a guest customization, or may have.
func customizes(vm *mo.VirtualMachine, w *driver.Desired) bool {
	b := bootstrapOf(w)
	return w.Effective == nil || b != nil && (b.LinuxPrep != nil || b.Sysprep != nil) && observe.ExtraConfig(vm, observe.AdoptedKey) != w.Identity.UID
}

func bootstrapOf(w *driver.Desired) *vmv1alpha1.VirtualMachineBootstrap {
	if w.Effective == nil {
		return nil
	}
	return w.Effective.Bootstrap
}

// guestInfoPrefix is the prefix of the variables that a guest can read and write with VMware Tools.
const guestInfoPrefix = "guestinfo."

// nameInterfaces sets the interface names of the adapters.
func nameInterfaces(o *provider.Observation, vm *mo.VirtualMachine, w *driver.Desired) {
	if o.Network == nil || w.Effective == nil || w.Effective.Network == nil {
		return
	}
	interfaces := w.Effective.Network.Interfaces
	for i, card := range observe.Assign(vm, interfaces, w.Adapters).Cards {
		if card == nil {
			continue
		}
		at := slices.IndexFunc(o.Network.Interfaces, func(s vmv1alpha1.VirtualMachineNetworkInterfaceStatus) bool {
			return s.DeviceKey == card.GetVirtualEthernetCard().Key
		})
		if at >= 0 {
			o.Network.Interfaces[at].Name = interfaces[i].Name
		}
	}
}

// desiredAddresses returns the interfaces' addresses in the spec, including claimed ones. Addresses of interfaces
// with a gateway are first. Addresses of interfaces without a gateway are returned only if all interfaces have
// addresses. Otherwise the guest is reachable at an interface that uses DHCP.
func desiredAddresses(w *driver.Desired) []string {
	if w.Effective == nil || w.Effective.Network == nil {
		return nil
	}
	var routed, others []string
	dhcp := false
	for _, i := range w.Effective.Network.Interfaces {
		dhcp = dhcp || len(i.Addresses) == 0
		for _, text := range i.Addresses {
			prefix, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
			case prefix.Addr().Is4() && i.Gateway4 != "", prefix.Addr().Is6() && i.Gateway6 != "":
				routed = append(routed, text)
			default:
				others = append(others, text)
			}
		}
	}
	if dhcp {
		return routed
	}
	return append(routed, others...)
}

// LocationCondition returns the location condition. It has no status unless vm is outside of the managed folder.
func LocationCondition(vm *mo.VirtualMachine, outside bool) metav1.Condition {
	if !outside {
		return metav1.Condition{Type: vmv1alpha1.ConditionLocationValid}
	}
	return falseCondition(vmv1alpha1.ConditionLocationValid, vmv1alpha1.ReasonMoved,
		"the vSphere VM "+vm.Name+" is no longer below the managed folder; it is still managed")
}

func trueCondition(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
}

func falseCondition(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}
