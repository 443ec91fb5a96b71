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

// Of returns the observation of vm. Package report adds values that depend on the spec. hostName resolves the name
// of a host.
func Of(vm *mo.VirtualMachine, hostName func(types.ManagedObjectReference) string) provider.Observation {
	o := provider.Observation{UniqueID: vm.Self.Value, Trouble: Trouble(vm), Orphaned: isOrphaned(vm)}
	if !IsReadable(vm) || !IsConnected(vm) {
		return o // The other properties are outdated.
	}
	o.Readable, o.Paused, o.RecordHead = true, IsPaused(vm), RecordHead(vm)
	if t, err := time.Parse(time.RFC3339Nano, ExtraConfig(vm, LastRestartKey)); err == nil {
		o.LastRestart = &metav1.Time{Time: t}
	}
	o.PowerState = PowerStateOf(vm)
	// vSphere reports it only for a VM that is powered off: "indicates whether the virtual machine's last shutdown
	// was an orderly power off or not" (VirtualMachineRuntimeInfo.cleanPowerOff). It does not distinguish a guest
	// shutdown from a power-off in vSphere. A crash of the VM or its host is not.
	o.CleanPowerOff = vm.Runtime.CleanPowerOff != nil && *vm.Runtime.CleanPowerOff
	o.Unfinished = IsPending(vm) && o.PowerState == vmv1alpha1.PoweredOff
	o.BiosUUID, o.InstanceUUID = strings.ToLower(vm.Config.Uuid), strings.ToLower(vm.Config.InstanceUuid)
	o.HardwareVersion = HardwareVersion(vm.Config.Version)
	o.CreationTime = creationTime(vm.Config.CreateDate)
	o.Resources = &vmv1alpha1.VirtualMachineResources{
		VCPUs: vm.Config.Hardware.NumCPU, Memory: resource.NewQuantity(int64(vm.Config.Hardware.MemoryMB)<<20, resource.BinarySI),
	}
	if vm.Runtime.Host != nil && hostName != nil {
		o.NodeName = hostName(*vm.Runtime.Host)
	}
	o.Guest, o.Network, o.Bootstrap = guestOf(vm), networkOf(vm), bootstrapStatus(vm)
	o.Storage, o.RetainedDisks = storageOf(vm), slices.Sorted(maps.Keys(FirstClass(vm)))
	o.Snapshots, o.StoredSnapshot = Snapshots(vm), SnapshotRecord(vm)
	o.DependentDisks, o.PromotionObstacle, o.Customizing = len(LinkedDisks(vm)), promotionObstacle(vm), IsCustomizing(vm)
	for _, c := range []metav1.Condition{customizationCondition(vm), questionCondition(vm), consolidationCondition(vm), toolsCondition(&o)} {
		o.Set(c)
	}
	return o
}

// PowerStateOf converts the power state.
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

// HardwareVersion parses vmx-NN. It returns 0 for other values.
func HardwareVersion(s string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "vmx-"), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// creationTime returns the creation time that vCenter reports, or nil. The API only documents that the property can
// be unset. A time of 1970-01-01 is ignored, because a VM of a release without createDate may have it; this is an
// assumption.
func creationTime(t *time.Time) *metav1.Time {
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

// hostNameOf returns the guest's host name without control characters. It returns an empty string if VMware Tools
// has not reported a name. vCenter then reports the text None, as in a recorded response.
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
