// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"bytes"
	"os"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"
)

// descriptorUUID is the entry of a disk's descriptor that holds its UUID, which therefore
// stays when the file is renamed, moved, detached, or attached elsewhere. The simulator
// computes it from the path of the file.
const descriptorUUID = "uuid"

// identifyDisks gives every disk that is added its UUID: a new one to a disk that is created,
// that of the descriptor to one that exists. A descriptor without one leaves it to the
// simulator.
func identifyDisks(ctx *simulator.Context, dc *simulator.Datacenter, changes []types.BaseVirtualDeviceConfigSpec) {
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		disk, ok := change.Device.(*types.VirtualDisk)
		if !ok || change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		switch {
		case !ok || disk.VDiskId != nil:
		case change.FileOperation != "":
			b.Uuid = uuid.NewString()
		default:
			if d := readDescriptor(localFile(ctx, dc, b.FileName)); d != nil && d.DDB[descriptorUUID] != "" {
				b.Uuid = d.DDB[descriptorUUID]
			}
		}
	}
}

// stampDisks writes the UUIDs of a virtual machine's disks into their descriptors.
func stampDisks(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	dc := datacenterOf(ctx, vm.Self)
	for _, disk := range disksOf(vm.Config) {
		b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if !ok || b.Uuid == "" {
			continue
		}
		file := localFile(ctx, dc, b.FileName)
		d := readDescriptor(file)
		if d == nil || d.DDB[descriptorUUID] == b.Uuid {
			continue
		}
		d.DDB[descriptorUUID] = b.Uuid
		if w, err := os.Create(file); err == nil {
			_ = d.Write(w)
			_ = w.Close()
		}
	}
}

// readDescriptor returns nil for a missing file, and for an image without a descriptor.
func readDescriptor(file string) *vmdk.Descriptor {
	content, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(content, []byte("# Disk DescriptorFile")) {
		return nil
	}
	d, err := vmdk.ParseDescriptor(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	return d
}
