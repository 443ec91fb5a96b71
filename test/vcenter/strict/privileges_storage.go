// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// storageNeeds are the privileges for media and encryption of a change: the lines
// "Reconfigure privileges" of VirtualMachineConfigSpec.deviceChange, and "Cryptographic
// Operations Privileges" of vSphere Security. That a medium takes Datastore.Browse is a
// judgement.
func storageNeeds(ctx *simulator.Context, vm types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) []need {
	var all []need
	if _, ok := spec.Crypto.(*types.CryptoSpecEncrypt); ok {
		all = append(all, need{vm, "Cryptographer.Encrypt"})
	}
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		edits := change.Operation == types.VirtualDeviceConfigSpecOperationEdit
		switch device := change.Device.(type) {
		case *types.VirtualDisk:
			if encryptsDisk(change) && edits {
				all = append(all, need{vm, "Cryptographer.Encrypt"})
			} else if encryptsDisk(change) {
				all = append(all, need{vm, "Cryptographer.AddDisk"})
			}
		case *types.VirtualCdrom:
			if edits {
				all = append(all, need{vm, "VirtualMachine.Interact.SetCDMedia"}, need{vm, "VirtualMachine.Interact.DeviceConnection"})
			}
			var p object.DatastorePath
			if iso, ok := device.Backing.(*types.VirtualCdromIsoBackingInfo); ok && p.FromString(iso.FileName) {
				all = append(all, datastoreNeed(ctx, vm, p.Datastore, "Datastore.Browse")...)
			}
		}
	}
	return all
}

// encrypts reports whether a virtual machine is created encrypted, or with an encrypted disk.
func encrypts(spec *types.VirtualMachineConfigSpec) bool {
	if _, ok := spec.Crypto.(*types.CryptoSpecEncrypt); ok {
		return true
	}
	for _, c := range spec.DeviceChange {
		if encryptsDisk(c.GetVirtualDeviceConfigSpec()) {
			return true
		}
	}
	return false
}

// datastoreNeed is a privilege on the datastore of a name in the datacenter of near.
func datastoreNeed(ctx *simulator.Context, near types.ManagedObjectReference, name, id string) []need {
	if dc := datacenterOf(ctx, near); dc != nil && name != "" {
		if ds := ctx.Map.FindByName(name, dc.Datastore); ds != nil {
			return []need{{ds.Reference(), id}}
		}
	}
	return nil
}

// mayReadKeyProviders are the privileges of which listing key providers takes one.
var mayReadKeyProviders = []string{"Cryptographer.ManageKeyServers", "Cryptographer.ReadKeyServersInfo"}

// keyProviderNeeds are those of a call to the key management.
func (g *Gate) keyProviderNeeds(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if method.Name != "ListKmipServers" {
		return nil
	}
	instance, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	for _, id := range mayReadKeyProviders {
		if !ok || g.sight.Allowed(ctx.Session.UserName, instance.Content.RootFolder, id) {
			return nil
		}
	}
	return &types.NoPermission{Object: &method.This, PrivilegeId: mayReadKeyProviders[0]}
}
