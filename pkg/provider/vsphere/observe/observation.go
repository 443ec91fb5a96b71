// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Of returns what vm shows by itself; package report adds what depends on the spec. hostName resolves the name of a host.
func Of(vm *mo.VirtualMachine, hostName func(types.ManagedObjectReference) string) provider.Observation {
	o := provider.Observation{UniqueID: vm.Self.Value, Trouble: Trouble(vm), Orphaned: orphaned(vm)}
	if !Readable(vm) || !Connected(vm) {
		return o // The other properties are of an earlier time.
	}
	o.Readable, o.Paused, o.Recorded = true, Paused(vm), Recorded(vm)
	if t, err := time.Parse(time.RFC3339Nano, ExtraConfig(vm, LastRestartKey)); err == nil {
		o.LastRestart = &metav1.Time{Time: t}
	}
	o.PowerState = PowerStateOf(vm)
	// The API has it of a VM that is powered off only: "indicates whether the virtual machine's last
	// shutdown was an orderly power off or not" (VirtualMachineRuntimeInfo.cleanPowerOff). It does
	// not tell a shutdown by the guest from a power off in vSphere: both are orderly, and a crash of
	// the VM or its host is not.
	o.CleanPowerOff = vm.Runtime.CleanPowerOff != nil && *vm.Runtime.CleanPowerOff
	o.Unfinished = Pending(vm) && o.PowerState == vmv1alpha1.PoweredOff
	o.BiosUUID, o.InstanceUUID = strings.ToLower(vm.Config.Uuid), strings.ToLower(vm.Config.InstanceUuid)
	o.HardwareVersion = HardwareVersion(vm.Config.Version)
	o.CreationTime = createdAt(vm.Config.CreateDate)
	o.Resources = &vmv1alpha1.VirtualMachineResources{
		VCPUs: vm.Config.Hardware.NumCPU, Memory: resource.NewQuantity(int64(vm.Config.Hardware.MemoryMB)<<20, resource.BinarySI),
	}
	if vm.Runtime.Host != nil && hostName != nil {
		o.NodeName = hostName(*vm.Runtime.Host)
	}
	o.Guest, o.Network, o.Bootstrap = guestOf(vm), networkOf(vm), bootstrapStatus(vm)
	o.Storage, o.Attached = storageOf(vm), slices.Sorted(maps.Keys(FirstClass(vm)))
	o.Snapshots, o.Kept = Snapshots(vm), Kept(vm)
	o.Depending, o.Unpromotable, o.Customizing = len(Depending(vm)), unpromotable(vm), Customizing(vm)
	for _, c := range []metav1.Condition{customized(vm), answered(vm), consolidated(vm), tools(&o)} {
		o.Set(c)
	}
	return o
}

// PowerStateOf translates the power state.
func PowerStateOf(vm *mo.VirtualMachine) vmv1alpha1.PowerState {
	switch vm.Runtime.PowerState {
	case types.VirtualMachinePowerStatePoweredOn:
		return vmv1alpha1.PoweredOn
	case types.VirtualMachinePowerStatePoweredOff:
		return vmv1alpha1.PoweredOff
	case types.VirtualMachinePowerStateSuspended:
		return vmv1alpha1.Suspended
	}
	return ""
}

// HardwareVersion parses vmx-NN; 0 when it is something else.
func HardwareVersion(s string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "vmx-"), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// createdAt returns the creation time that vCenter reports. That a VM of a release without createDate can have
// 1970-01-01 is a judgement; the API says only that the property can be unset.
func createdAt(t *time.Time) *metav1.Time {
	if t == nil || t.Unix() <= 0 {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

func guestOf(vm *mo.VirtualMachine) *vmv1alpha1.VirtualMachineGuestStatus {
	if vm.Guest == nil || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return nil
	}
	g := &vmv1alpha1.VirtualMachineGuestStatus{
		GuestID:       bounds.Clean(vm.Guest.GuestId),
		GuestFullName: bounds.Clean(vm.Guest.GuestFullName),
		HostName:      hostNameOf(vm.Guest),
		ToolsRunning:  vm.Guest.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning),
		ToolsVersion:  bounds.Clean(vm.Guest.ToolsVersion),
		Heartbeat:     heartbeats[vm.GuestHeartbeatStatus],
	}
	if t := vm.Runtime.BootTime; t != nil {
		g.BootTime = &metav1.Time{Time: t.UTC().Truncate(time.Second)}
	}
	return g
}

// hostNameOf returns the host name that the guest reports, without characters that act on a
// terminal. It is empty while VMware Tools have not reported one: a recorded answer of vCenter
// has the text None then.
func hostNameOf(guest *types.GuestInfo) string {
	if guest.HostName == "None" {
		return ""
	}
	return bounds.CleanHostName(guest.HostName)
}

var heartbeats = map[types.ManagedEntityStatus]vmv1alpha1.GuestHeartbeatStatus{
	types.ManagedEntityStatusGray:   vmv1alpha1.GuestHeartbeatGray,
	types.ManagedEntityStatusRed:    vmv1alpha1.GuestHeartbeatRed,
	types.ManagedEntityStatusYellow: vmv1alpha1.GuestHeartbeatYellow,
	types.ManagedEntityStatusGreen:  vmv1alpha1.GuestHeartbeatGreen,
}

func storageOf(vm *mo.VirtualMachine) *vmv1alpha1.VirtualMachineStorageStatus {
	s := vm.Summary.Storage
	if s == nil {
		return nil
	}
	out := &vmv1alpha1.VirtualMachineStorageStatus{
		Committed:   resource.NewQuantity(s.Committed, resource.BinarySI),
		Provisioned: resource.NewQuantity(s.Committed+s.Uncommitted, resource.BinarySI),
	}
	if disk, _ := BootDisk(vm); disk != nil {
		out.BootDisk = &vmv1alpha1.VirtualMachineBootDiskStatus{
			Capacity: resource.NewQuantity(Capacity(disk), resource.BinarySI), DiskUUID: DiskUUID(disk), DeviceKey: disk.Key,
		}
	}
	return out
}
