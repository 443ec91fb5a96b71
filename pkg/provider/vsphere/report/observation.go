// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Facts are what vm shows; w names its volumes and interfaces. hostName resolves the
// name of a host.
func Facts(vm *mo.VirtualMachine, w *driver.Want, hostName func(vimtypes.ManagedObjectReference) string) driver.Facts {
	out := driver.Facts{Trouble: observe.Trouble(vm), Orphaned: observe.Orphaned(vm)}
	out.UniqueID = vm.Self.Value
	if !observe.Readable(vm) || !observe.Connected(vm) {
		return out // What is shown of it is of another time.
	}
	f := observe.Of(vm, hostName)
	out.Readable, out.Paused, out.Recorded = true, f.Paused, observe.Recorded(vm)
	out.Facts = provider.Facts{
		PowerState: f.PowerState, UniqueID: f.UniqueID, BiosUUID: f.BiosUUID, InstanceUUID: f.InstanceUUID,
		HardwareVersion: f.HardwareVersion, Resources: &f.Resources, Guest: f.Guest, Storage: f.Storage,
		Network: nameInterfaces(vm, f, w), Volumes: volumes(vm, w), NodeName: f.NodeName, LastRestart: f.LastRestart,
	}
	snapshots(&out, f)
	for _, name := range w.GuestInfo {
		if value := observe.ExtraConfig(vm, guestInfoPrefix+name); value != "" {
			if out.GuestInfo == nil {
				out.GuestInfo = map[string]string{}
			}
			out.GuestInfo[name] = value
		}
	}
	if out.Storage != nil {
		out.Storage.BootDisk = bootDisk(vm)
	}
	out.Bootstrap = observe.BootstrapStatus(vm)
	out.Depending, out.Unpromotable = len(observe.Depending(vm)), Unpromotable(vm)
	out.Kept, out.Customizing = observe.Kept(vm), observe.Customizing(vm)
	out.Attached = slices.Sorted(maps.Keys(observe.FirstClass(vm)))
	if !customizes(vm, w) {
		f.Customization = "" // It is the result of another party.
	}
	out.Conditions, out.Withdrawn = observe.Conditions(f)
	out.Conditions = append(out.Conditions, tools(f))
	if c := observe.BootstrapCondition(vm, w.Identity.UID, bootstrapOf(w)); c != nil {
		out.Conditions = append(out.Conditions, *c)
	} else {
		out.Withdrawn = append(out.Withdrawn, vmv1alpha1.ConditionBootstrapDataRemoved)
	}
	if w.NoPromotion {
		out.Withdrawn = append(out.Withdrawn, vmv1alpha1.ConditionDiskPromotionSynced)
	} else {
		out.Conditions = append(out.Conditions, promotion(vm))
	}
	return out
}

// customizes is true when the object has vSphere customize the guest, or may have.
func customizes(vm *mo.VirtualMachine, w *driver.Want) bool {
	b := bootstrapOf(w)
	return w.Effective == nil || b != nil && (b.LinuxPrep != nil || b.Sysprep != nil) && observe.ExtraConfig(vm, observe.AdoptedKey) != w.Identity.UID
}

func bootstrapOf(w *driver.Want) *vmv1alpha1.VirtualMachineBootstrap {
	if w.Effective == nil {
		return nil
	}
	return w.Effective.Bootstrap
}

// guestInfoPrefix is that of the variables which a guest may read and write, by VMware Tools.
const guestInfoPrefix = "guestinfo."

// nameInterfaces gives the adapters the names of the interfaces that they belong to.
func nameInterfaces(vm *mo.VirtualMachine, f observe.Facts, w *driver.Want) *vmv1alpha1.VirtualMachineNetworkStatus {
	n := f.Network.DeepCopy()
	if n == nil || w.Effective == nil || w.Effective.Network == nil {
		return n
	}
	interfaces := w.Effective.Network.Interfaces
	for i, card := range observe.Assign(vm, interfaces, w.Adapters).Cards {
		if card == nil {
			continue
		}
		at := slices.IndexFunc(n.Interfaces, func(s vmv1alpha1.VirtualMachineNetworkInterfaceStatus) bool {
			return s.DeviceKey == card.GetVirtualEthernetCard().Key
		})
		if at >= 0 {
			n.Interfaces[at].Name = interfaces[i].Name
		}
	}
	return n
}

func tools(f observe.Facts) metav1.Condition {
	kind := vmv1alpha1.ConditionGuestToolsReady
	switch {
	case f.PowerState != vmv1alpha1.PoweredOn:
		return no(kind, vmv1alpha1.ReasonPoweredOff, "the virtual machine does not run")
	case f.Guest == nil:
		return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState, Message: "vSphere reports no guest"}
	case f.Guest.ToolsRunning:
		return yes(kind)
	}
	return no(kind, vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run")
}

// Misplaced is the condition of a VM outside of the managed folder.
func Misplaced(name string) metav1.Condition {
	return no(vmv1alpha1.ConditionLocationValid, vmv1alpha1.ReasonMoved,
		"the vSphere VM "+name+" is not below the managed folder any more; it is managed all the same")
}

func yes(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
}

func no(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}
