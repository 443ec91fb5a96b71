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

// Want is the desired configuration: what the object requests, and what vCenter has for it.
type Want struct {
	driver.Want
	// PlacesClaims is true of a vCenter that takes the place of the disk of a claim.
	PlacesClaims bool
	// Backings are the resolved networks by the name that the effective spec
	// uses, the empty name for the default network. A network that is missing
	// here is not known, and the adapters are not compared then.
	Backings map[string]types.BaseVirtualDeviceBackingInfo
	// Storage is what is known of the storage policies of disks.
	Storage storage.Known
	// ISOs are the files of the images in CD-ROM drives, as datastore paths, by volume.
	// A volume that is missing here is not known, and its drive is not compared.
	ISOs map[string]string
	// ImageProperties are the OVF properties of the image of a new VM, nil for none. A
	// deployment that brings its own configuration may leave them out.
	ImageProperties *types.VmConfigSpec
	// Attempt is the mark that a new VM carries until it is complete.
	Attempt string
	// New is true while the VM is being made, so that all of it is ours.
	New bool
	// Bootstrapped is true when the bootstrap of a new VM is done.
	Bootstrapped bool
	// Barred are the lists of devices to pass through, by path, of which one is not allowed: they are not applied.
	Barred []string
	// HostMHz is the clock rate of a core of the VM's host, 0 if not known.
	HostMHz int64
}

// WantOf returns the desired configuration of an object whose other inputs are not known.
func WantOf(owner observe.Owner, instanceUUID string, effective *vmv1alpha1.VirtualMachineInstanceSpec) Want {
	return Want{Want: driver.Want{
		Desired:  provider.Desired{Effective: effective},
		Identity: driver.Identity{Key: owner.Key, UID: owner.UID, InstanceUUID: instanceUUID},
	}}
}

// Owner is the object.
func (w *Want) Owner() observe.Owner {
	return observe.Owner{Key: w.Identity.Key, UID: w.Identity.UID}
}

// imageBootDisk is the capacity of the first disk of the image, in bytes; 0 if that is not known.
func (w *Want) imageBootDisk() int64 {
	if w.Image != nil {
		if disk := w.Image.Status.BootDisk(); disk != nil {
			return disk.Value()
		}
	}
	return 0
}

// vAppProperties are OVF property values by key, nil for none.
func (w *Want) vAppProperties() map[string]string {
	if w.Bootstrap == nil {
		return nil
	}
	return w.Bootstrap.VAppProperties
}

// Difference is one field that is not as wanted.
type Difference struct {
	// Path of the field in the effective spec, for example cpu.sockets.
	Path string
	// Running is the value that the VM has.
	Running string
	// Desired is the wanted value.
	Desired string
	// Live is true when vSphere can change it while the VM runs.
	Live bool
	// FirstBoot is true when it matters only before the VM is powered on, so
	// that a running VM does not need a restart for it.
	FirstBoot bool

	set func(*types.VirtualMachineConfigSpec)
	// claim is for the volume service, which is no part of a reconfiguration either.
	claim *ClaimChange
}

// Names is true when the difference changes nothing for the guest.
func (d *Difference) Names() bool {
	return strings.HasPrefix(d.Path, "metadata.") || d.Path == "instanceUUID"
}

// disk reports whether the difference creates or grows a disk.
func (d *Difference) disk() bool {
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

// Upgrade returns the hardware version that the differences ask for, empty for
// none. vSphere upgrades a powered-off VM in an operation of its own.
func Upgrade(diffs []Difference) string {
	for _, d := range diffs {
		if d.Path == hardware.HardwareVersion {
			return "vmx-" + d.Desired
		}
	}
	return ""
}

// OnlyElsewhere reports whether the differences need no reconfiguration: an upgrade and
// what the volume service does are operations of their own.
func OnlyElsewhere(diffs []Difference) bool {
	for _, d := range diffs {
		if d.Path != hardware.HardwareVersion && (d.claim == nil || d.claim.Attach != nil) {
			return false
		}
	}
	return true
}
