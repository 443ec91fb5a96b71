// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// Desired is the desired configuration of a VM: the object's spec and the values that vCenter provides for it.
type Desired struct {
	driver.Desired
	// PlacesClaims is true if vCenter lets the client choose the disk position of a claim's disk.
	PlacesClaims bool
	// Backings are the resolved networks by their name in the effective spec. The empty name is the default
	// network. Adapters are not compared while one of their networks is missing here.
	Backings map[string]types.BaseVirtualDeviceBackingInfo
	// Storage holds the storage policies of disks that have been resolved.
	Storage storage.Resolved
	// ISOs are the datastore paths of the images in CD-ROM drives, by volume name. A drive is not compared while
	// its volume is missing here.
	ISOs map[string]string
	// ImageProperties are the OVF properties of a new VM's image. They may be nil. A deployment with its own
	// configuration may not copy them.
	ImageProperties *types.VmConfigSpec
	// Attempt is the mark that identifies a create attempt. A new VM has it until it is complete.
	Attempt string
	// New is true while the VM is being created. Then all its devices are managed.
	New bool
	// Bootstrapped is true after the bootstrap of a new VM has completed.
	Bootstrapped bool
	// NotAllowedLists are the paths of passthrough device lists that are not applied, because the list contains a device
	// that is not allowed.
	NotAllowedLists []string
	// HostMHz is the clock rate of a core of the VM's host, 0 if it is not known.
	HostMHz int64
}

// DesiredOf returns a desired configuration with an owner, an instance UUID and an effective spec. All other inputs
// are empty.
func DesiredOf(owner observe.Owner, instanceUUID string, effective *vmv1alpha1.VirtualMachineInstanceSpec) Desired {
	return Desired{Desired: driver.Desired{
		Desired:  provider.Desired{Effective: effective},
		Identity: driver.Identity{Key: owner.Key, UID: owner.UID, InstanceUUID: instanceUUID},
	}}
}

// Owner returns the object that owns the VM.
func (w *Desired) Owner() observe.Owner {
	return observe.Owner{Key: w.Identity.Key, UID: w.Identity.UID}
}

// imageBootDisk returns the capacity of the image's first disk in bytes, or 0 if it is not known.
func (w *Desired) imageBootDisk() int64 {
	if w.Image != nil {
		if disk := w.Image.Status.BootDiskCapacity(); disk != nil {
			return disk.Value()
		}
	}
	return 0
}

// vAppProperties returns OVF property values by key. They may be nil.
func (w *Desired) vAppProperties() map[string]string {
	if w.Bootstrap == nil {
		return nil
	}
	return w.Bootstrap.VAppProperties
}

// Difference is a field whose value on the VM is not the desired value.
type Difference struct {
	// Path is the field's path in the effective spec, for example cpu.sockets.
	Path string
	// Running is the VM's current value.
	Running string
	// Desired is the desired value.
	Desired string
	// Live is true if vSphere can change the field while the VM is running.
	Live bool
	// FirstBoot is true if the field matters only before the first power-on. A running VM does not need a restart
	// for it.
	FirstBoot bool

	set func(*types.VirtualMachineConfigSpec)
	// claim is a request to the volume service, which is not part of a reconfiguration.
	claim *ClaimChange
}

// IsMetadata reports whether the difference has no effect on the guest.
func (d *Difference) IsMetadata() bool {
	return strings.HasPrefix(d.Path, "metadata.") || d.Path == "instanceUUID"
}

// isDisk reports whether the difference creates or grows a disk.
func (d *Difference) isDisk() bool {
	return d.Path == hardware.BootDiskSize || strings.HasPrefix(d.Path, "volumes[")
}

// Spec merges differences into one reconfiguration.
func Spec(diffs []Difference) types.VirtualMachineConfigSpec {
	var spec types.VirtualMachineConfigSpec
	for _, d := range diffs {
		d.set(&spec)
	}
	return spec
}

// Upgrade returns the hardware version that the differences require, or an empty string. vSphere upgrades a
// powered-off VM in a separate operation.
func Upgrade(diffs []Difference) string {
	for _, d := range diffs {
		if d.Path == hardware.HardwareVersion {
			return "vmx-" + d.Desired
		}
	}
	return ""
}

// NeedNoReconfigure reports whether all differences are applied by operations other than a reconfiguration: by a
// hardware upgrade or by the volume service.
func NeedNoReconfigure(diffs []Difference) bool {
	for _, d := range diffs {
		if d.Path != hardware.HardwareVersion && (d.claim == nil || d.claim.Attach != nil) {
			return false
		}
	}
	return true
}
