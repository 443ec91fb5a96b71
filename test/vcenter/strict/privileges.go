// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
)

// need is a privilege on an object.
type need struct {
	object types.ManagedObjectReference
	id     string
}

// onTarget are the privileges that calls need on their target: "Required Privileges"
// of the methods in the vSphere Web Services API.
var onTarget = map[string]string{
	"PowerOnVM_Task": "VirtualMachine.Interact.PowerOn", "PowerOffVM_Task": "VirtualMachine.Interact.PowerOff",
	"ShutdownGuest": "VirtualMachine.Interact.PowerOff", "SuspendVM_Task": "VirtualMachine.Interact.Suspend",
	"StandbyGuest": "VirtualMachine.Interact.Suspend", "ResetVM_Task": "VirtualMachine.Interact.Reset",
	"RebootGuest": "VirtualMachine.Interact.Reset", "AnswerVM": "VirtualMachine.Interact.AnswerQuestion",
	"PromoteDisks_Task": "VirtualMachine.Provisioning.PromoteDisks", "CustomizeVM_Task": "VirtualMachine.Provisioning.Customize",
	"UpgradeVM_Task": "VirtualMachine.Config.UpgradeVirtualHardware", "CreateFolder": "Folder.Create",
	"RelocateVM_Task": "Resource.ColdMigrate", "ImportVApp": "VApp.Import",
	"CreateSnapshot_Task": "VirtualMachine.State.CreateSnapshot", "RevertToCurrentSnapshot_Task": "VirtualMachine.State.RevertToSnapshot",
	"CreateSnapshotEx_Task": "VirtualMachine.State.CreateSnapshot", "RemoveAllSnapshots_Task": "VirtualMachine.State.RemoveSnapshot",
	"ConsolidateVMDisks_Task": "VirtualMachine.State.RemoveSnapshot",
}

// permitted refuses a call that the account of the session lacks a privilege for.
func (g *Gate) permitted(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if _, entity := ctx.Session.Get(method.This).(mo.Entity); entity && !g.sight.Allowed(ctx.Session.UserName, method.This, sight.SystemView) {
		return &types.NoPermission{Object: &method.This, PrivilegeId: sight.SystemView}
	}
	if fault := g.keyProviderNeeds(ctx, method); fault != nil {
		return fault
	}
	return g.lacking(ctx.Session.UserName, needs(ctx, method))
}

func (g *Gate) lacking(account string, needs []need) types.BaseMethodFault {
	for _, n := range needs {
		if !g.sight.Allowed(account, n.object, n.id) {
			return &types.NoPermission{Object: &n.object, PrivilegeId: n.id}
		}
	}
	return nil
}

// needs lists the privileges that a call takes.
func needs(ctx *simulator.Context, method *simulator.Method) []need {
	all := datastoreNeeds(ctx, method)
	if id := onTarget[method.Name]; id != "" {
		all = append(all, need{method.This, id})
	}
	switch body := method.Body.(type) {
	case *types.CreateVM_Task:
		return append(append(creationNeeds(ctx, body), diskNeeds(ctx, body)...), need{body.This, "VirtualMachine.Inventory.Create"})
	case *types.RegisterVM_Task:
		all = append(all, need{body.This, "VirtualMachine.Inventory.Register"})
		if body.Pool != nil {
			all = append(all, need{*body.Pool, "Resource.AssignVMToPool"})
		}
	case *types.CloneVM_Task:
		return cloneNeeds(ctx, body)
	case *types.ReconfigVM_Task:
		return append(reconfigureNeeds(ctx, body.This, &body.Spec), storageNeeds(ctx, body.This, &body.Spec)...)
	case *types.AcquireTicket:
		if id := ticketNeeds[body.TicketType]; id != "" {
			all = append(all, need{body.This, id})
		}
	case *types.Destroy_Task:
		if body.This.Type == "VirtualMachine" {
			return withParent(ctx, body.This, "VirtualMachine.Inventory.Delete")
		}
		if body.This.Type == "Folder" {
			return []need{{body.This, "Folder.Delete"}}
		}
	case *types.RevertToSnapshot_Task:
		return snapshotNeeds(ctx, body.This, "VirtualMachine.State.RevertToSnapshot")
	case *types.RemoveSnapshot_Task:
		return snapshotNeeds(ctx, body.This, "VirtualMachine.State.RemoveSnapshot")
	case *types.UnregisterVM:
		return withParent(ctx, body.This, "VirtualMachine.Inventory.Unregister")
	case *types.Rename_Task:
		if body.This.Type == "VirtualMachine" {
			return []need{{body.This, "VirtualMachine.Config.Rename"}}
		}
		return []need{{body.This, "Folder.Rename"}}
	case *types.MoveIntoFolder_Task:
		for _, ref := range body.List {
			if ref.Type == "VirtualMachine" {
				all = append(all, need{ref, "VirtualMachine.Inventory.Move"}, need{body.This, "VirtualMachine.Inventory.Move"})
			}
		}
	}
	return all
}

// snapshotNeeds is a privilege that is needed on the virtual machine of a snapshot.
func snapshotNeeds(ctx *simulator.Context, ref types.ManagedObjectReference, id string) []need {
	snapshot, ok := ctx.Map.Get(ref).(*simulator.VirtualMachineSnapshot)
	if !ok {
		return nil
	}
	return []need{{snapshot.Vm, id}}
}

// withParent is a privilege that is needed "in both the object and its parent object"
// (vSphere Security, Virtual Machine Edit Inventory Privileges).
func withParent(ctx *simulator.Context, vm types.ManagedObjectReference, id string) []need {
	all := []need{{vm, id}}
	if e, ok := ctx.Map.Get(vm).(mo.Entity); ok && e.Entity().Parent != nil {
		all = append(all, need{*e.Entity().Parent, id})
	}
	return all
}

// creationNeeds are the privileges for a creation on objects other than the folder.
func creationNeeds(ctx *simulator.Context, req *types.CreateVM_Task) []need {
	all := []need{{req.Pool, "Resource.AssignVMToPool"}}
	if files := req.Config.Files; files != nil {
		var p object.DatastorePath
		p.FromString(files.VmPathName)
		all = append(all, datastoreNeed(ctx, req.This, p.Datastore, "Datastore.AllocateSpace")...)
	}
	if encrypts(&req.Config) {
		all = append(all, need{req.This, "Cryptographer.EncryptNew"})
	}
	return append(all, networkNeeds(ctx, req.This, req.Config.DeviceChange)...)
}

func cloneNeeds(ctx *simulator.Context, req *types.CloneVM_Task) []need {
	source := need{req.This, "VirtualMachine.Provisioning.Clone"}
	if vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine); ok && vm.Config != nil && vm.Config.Template {
		source.id = "VirtualMachine.Provisioning.DeployTemplate"
	}
	all := []need{source, {req.Folder, "VirtualMachine.Inventory.CreateFromExisting"}}
	if pool := req.Spec.Location.Pool; pool != nil {
		all = append(all, need{*pool, "Resource.AssignVMToPool"})
	}
	if ds := req.Spec.Location.Datastore; ds != nil {
		all = append(all, need{*ds, "Datastore.AllocateSpace"})
	}
	if req.Spec.Customization != nil {
		all = append(all, need{req.This, "VirtualMachine.Provisioning.Customize"})
	}
	if spec := req.Spec.Config; spec != nil {
		if encrypts(spec) {
			all = append(all, need{req.Folder, "Cryptographer.EncryptNew"})
		}
		all = append(all, networkNeeds(ctx, req.Folder, spec.DeviceChange)...)
	}
	return append(all, networkNeeds(ctx, req.Folder, req.Spec.Location.DeviceChange)...)
}

// reconfigureNeeds are the lines "Reconfigure privilege" of VirtualMachineConfigSpec.
func reconfigureNeeds(ctx *simulator.Context, vm types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) []need {
	var all []need
	add := func(given bool, id string) {
		if given {
			all = append(all, need{vm, "VirtualMachine.Config." + id})
		}
	}
	add(spec.Name != "", "Rename")
	add(spec.NumCPUs != 0 || spec.NumCoresPerSocket != nil, "CPUCount")
	add(spec.MemoryMB != 0, "Memory")
	add(spec.CpuAllocation != nil || spec.MemoryAllocation != nil, "Resource")
	add(len(spec.ExtraConfig) != 0, "AdvancedConfig")
	add(spec.Annotation != "", "Annotation")
	add(spec.Version != "", "UpgradeVirtualHardware")
	add(spec.ManagedBy != nil, "ManagedBy")
	add(spec.InstanceUuid != "" || spec.Uuid != "" || spec.GuestId != "" || spec.Firmware != "" || spec.BootOptions != nil ||
		spec.Flags != nil || spec.Tools != nil || spec.CpuHotAddEnabled != nil || spec.MemoryHotAddEnabled != nil, "Settings")
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		_, disk := change.Device.(*types.VirtualDisk)
		_, drive := change.Device.(*types.VirtualCdrom)
		switch edit := change.Operation == types.VirtualDeviceConfigSpecOperationEdit; {
		case disk && change.Operation == types.VirtualDeviceConfigSpecOperationRemove:
			add(true, "RemoveDisk")
		case disk && edit:
			add(true, "DiskExtend")
		case disk && change.FileOperation == "":
			add(true, "AddExistingDisk")
		case disk:
			add(true, "AddNewDisk")
		case edit && drive: // storageNeeds
		case edit:
			add(true, "EditDevice")
		default:
			add(true, "AddRemoveDevice")
		}
	}
	return append(all, networkNeeds(ctx, vm, spec.DeviceChange)...)
}

// networkNeeds are the privileges on the networks of network cards.
func networkNeeds(ctx *simulator.Context, near types.ManagedObjectReference, changes []types.BaseVirtualDeviceConfigSpec) []need {
	dc := datacenterOf(ctx, near)
	var all []need
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		if change.Device == nil || dc == nil || change.Operation == types.VirtualDeviceConfigSpecOperationRemove {
			continue
		}
		switch backing := change.Device.GetVirtualDevice().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			if network := ctx.Map.FindByName(backing.DeviceName, dc.Network); network != nil {
				all = append(all, need{network.Reference(), "Network.Assign"})
			}
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			all = append(all, need{types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}, "Network.Assign"})
		}
	}
	return all
}
