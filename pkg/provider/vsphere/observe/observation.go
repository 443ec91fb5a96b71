// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Facts are what the API reports of a vSphere VM.
type Facts struct {
	// UniqueID is the managed object ID.
	UniqueID string
	// BiosUUID is the BIOS UUID.
	BiosUUID string
	// InstanceUUID is the instance UUID.
	InstanceUUID string
	// HardwareVersion is the number of the virtual hardware version.
	HardwareVersion int32
	// PowerState is the power state; empty when vSphere reports none.
	PowerState vmv1alpha1.PowerState
	// Connected is true when vCenter manages the VM: not orphaned, inaccessible,
	// invalid or on a disconnected host.
	Connected bool
	// Readable is true when the configuration could be read.
	Readable bool
	// Pooled is true when the VM is in a resource pool; a template is in none.
	Pooled bool
	// NodeName is the name of the ESXi host.
	NodeName string
	// Guest is what VMware Tools reports, nil while nothing runs.
	Guest *vmv1alpha1.VirtualMachineGuestStatus
	// Network is the observed network, without names of interfaces.
	Network *vmv1alpha1.VirtualMachineNetworkStatus
	// Storage is the storage in use.
	Storage *vmv1alpha1.VirtualMachineStorageStatus
	// Resources is the size.
	Resources vmv1alpha1.VirtualMachineResources
	// Owner is the VirtualMachine that the VM belongs to.
	Owner Owner
	// Paused is true when an administrator paused the VM.
	Paused bool
	// LastRestart is the request time of the last restart on request.
	LastRestart *metav1.Time
	// Question is what vSphere asks and blocks the VM for; empty for nothing.
	Question string
	// Customization is how the guest customization goes; empty without one. It is a
	// GuestInfoCustomizationStatus of vSphere.
	Customization types.GuestInfoCustomizationStatus
	// CustomizationError says why it failed.
	CustomizationError string
	// ConsolidationNeeded is true when a disk has files of a snapshot that is gone.
	ConsolidationNeeded bool
	// Snapshots that it has, a parent before its children.
	Snapshots []Snapshot
	// NICs are the device keys of the network adapters in order.
	NICs []int32
}

// Of returns the facts of vm; hostName resolves the name of a host.
func Of(vm *mo.VirtualMachine, hostName func(types.ManagedObjectReference) string) Facts {
	f := Facts{
		UniqueID:   vm.Self.Value,
		PowerState: PowerStateOf(vm),
		Connected:  Connected(vm),
		Readable:   Readable(vm),
		Pooled:     vm.ResourcePool != nil,
		Guest:      guestOf(vm),
		Storage:    storageOf(vm),
		Paused:     Paused(vm),
	}
	f.Owner, _ = OwnerOf(vm)
	if vm.Runtime.Host != nil && hostName != nil {
		f.NodeName = hostName(*vm.Runtime.Host)
	}
	f.ConsolidationNeeded = vm.Runtime.ConsolidationNeeded
	if q := vm.Runtime.Question; q != nil {
		f.Question = strings.TrimSpace(q.Text)
	}
	if vm.Guest != nil && vm.Guest.CustomizationInfo != nil {
		f.Customization = types.GuestInfoCustomizationStatus(vm.Guest.CustomizationInfo.CustomizationStatus)
		f.CustomizationError = bounds.Clean(vm.Guest.CustomizationInfo.ErrorMsg)
	}
	if c := vm.Config; c != nil {
		f.BiosUUID, f.InstanceUUID = strings.ToLower(c.Uuid), strings.ToLower(c.InstanceUuid)
		f.HardwareVersion = HardwareVersion(c.Version)
		f.Resources.VCPUs = c.Hardware.NumCPU
		f.Resources.Memory = resource.NewQuantity(int64(c.Hardware.MemoryMB)<<20, resource.BinarySI)
	}
	f.NICs, f.Snapshots = nicKeys(vm), Snapshots(vm)
	f.Network = networkOf(vm, f.NICs)
	if t, err := time.Parse(time.RFC3339Nano, ExtraConfig(vm, LastRestartKey)); err == nil {
		f.LastRestart = &metav1.Time{Time: t}
	}
	return f
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
	return &vmv1alpha1.VirtualMachineStorageStatus{
		Committed:   resource.NewQuantity(s.Committed, resource.BinarySI),
		Provisioned: resource.NewQuantity(s.Committed+s.Uncommitted, resource.BinarySI),
	}
}
