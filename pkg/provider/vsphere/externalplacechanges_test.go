// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"slices"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// externalLocationChanges are the changes of a VM's location, devices and permissions.
var externalLocationChanges = []externalChange{
	{name: "its host is removed and added again", reported: missingVM, hasNewID: true,
		event: func(v *victim) {
			name := v.host().Name()
			v.event(http.MethodPost, "/host/remove?host="+name)
			v.eventResponse = name
		},
		undo: func(v *victim) {
			v.event(http.MethodPost, "/host/add?host="+v.eventResponse)
			v.confirm()
		}},
	{name: "its host is removed and added again, and its ID is unchanged", reported: missingVM,
		event: func(v *victim) {
			name := v.host().Name()
			v.event(http.MethodPost, "/host/remove?host="+name)
			v.eventResponse = name
		},
		undo: func(v *victim) { v.event(http.MethodPost, "/host/add?ids=same&host="+v.eventResponse) }},
	{name: "it is migrated to another host", reported: synchronized,
		event: func(v *victim) {
			hosts, err := find.NewFinder(v.vm.Client()).HostSystemList(v.t.Context(), "/DC0/host/DC0_C0/*")
			if err != nil {
				v.t.Fatal(err)
			}
			at := slices.IndexFunc(hosts, func(h *object.HostSystem) bool { return h.Reference() != v.host().Reference() })
			v.eventResponse = hosts[at].Name()
			to := types.VirtualMachineRelocateSpec{Host: new(hosts[at].Reference())}
			v.await(v.vm.Relocate(v.t.Context(), to, types.VirtualMachineMovePriorityDefaultPriority))
		},
		check: func(v *victim) {
			v.l.until("status reports the host", func() bool { return v.req.VM.Status.NodeName == v.eventResponse }, v.req)
		}},
	{name: "it is moved to another datastore", reported: synchronized,
		event: func(v *victim) {
			ds, err := find.NewFinder(v.vm.Client()).Datastore(v.t.Context(), "/DC0/datastore/LocalDS_1")
			if err != nil {
				v.t.Fatal(err)
			}
			to := types.VirtualMachineRelocateSpec{Datastore: new(ds.Reference())}
			v.await(v.vm.Relocate(v.t.Context(), to, types.VirtualMachineMovePriorityDefaultPriority))
		}},
	{name: "its datastore is renamed", reported: synchronized,
		event: func(v *victim) { v.event(http.MethodPost, "/datastore/rename?from=LocalDS_0&to=renamed") },
		check: func(v *victim) {
			v.req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			v.awaitPowerCycle()
			v.l.until("the VM has the desired power state", isRunning(v.req), v.req)
		},
		undo: func(v *victim) { v.event(http.MethodPost, "/datastore/rename?from=renamed&to=LocalDS_0") }},
	{name: "it becomes a template", reported: "PoweredOff, Created True Succeeded, ConfigurationSynced Unknown UnknownState",
		event: func(v *victim) {
			v.powerOff()
			if err := v.vm.MarkAsTemplate(v.t.Context()); err != nil {
				v.t.Fatal(err)
			}
		},
		undo: func(v *victim) {
			pool, err := find.NewFinder(v.vm.Client()).ResourcePool(v.t.Context(), "/DC0/host/DC0_C0/Resources")
			if err == nil {
				err = v.vm.MarkAsVirtualMachine(v.t.Context(), *pool, nil)
			}
			if err != nil {
				v.t.Fatal(err)
			}
		}},
	{name: "a disk is added", reported: synchronized,
		event: func(v *victim) {
			devices, err := v.vm.Device(v.t.Context())
			if err != nil {
				v.t.Fatal(err)
			}
			controller, err := devices.FindDiskController("")
			if err != nil {
				v.t.Fatal(err)
			}
			disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, "")
			disk.CapacityInKB = 1 << 20
			if err := v.vm.AddDevice(v.t.Context(), disk); err != nil {
				v.t.Fatal(err)
			}
		},
		check: func(v *victim) {
			v.awaitInventory(func(vm *mo.VirtualMachine) bool {
				devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
				return len(devices.SelectByType((*types.VirtualDisk)(nil))) == 2
			})
			v.l.until("the VM is not moved", isRunning(v.req), v.req)
		}},
	{name: "a backup disables its power-off method", reported: synchronized,
		event: func(v *victim) { v.event(http.MethodPut, "/vm/disabled?vm=%s&methods=PowerOffVM_Task") },
		check: requestRefusedPowerOff,
		undo: func(v *victim) {
			v.event(http.MethodPut, "/vm/disabled?vm=%s")
			v.awaitPowerCycle()
		}},
	{name: "the privilege to power it off is revoked", reported: synchronized,
		event: func(v *victim) {
			v.event(http.MethodPut, "/permissions?entity=%s&without=VirtualMachine.Interact.PowerOff")
		},
		check: requestRefusedPowerOff,
		undo: func(v *victim) {
			v.event(http.MethodDelete, "/permissions?entity=%s")
			v.awaitPowerCycle()
		}},
}

// requestRefusedPowerOff requests a power-off that vSphere refuses.
func requestRefusedPowerOff(v *victim) {
	v.req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	v.l.until("status reports the refusal", func() bool {
		return reason(&v.req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) == "False Error"
	}, v.req)
	if got := v.req.VM.Status.PowerState; got != vmv1alpha1.PoweredOn {
		v.t.Errorf("power state %s, want PoweredOn, unchanged", got)
	}
}

// awaitPowerCycle waits until the refused power-off succeeds.
func (v *victim) awaitPowerCycle() {
	v.l.until("the VM is off", func() bool { return v.req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, v.req)
	v.req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
}

// host returns the host of the victim and its name.
func (v *victim) host() *object.HostSystem {
	v.t.Helper()
	host, err := v.vm.HostSystem(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	name, err := host.ObjectName(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	host.InventoryPath = "/" + name
	return host
}
