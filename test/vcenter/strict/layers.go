// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// layerName matches the file that a disk writes to since a snapshot was taken.
var layerName = regexp.MustCompile(`-[0-9]{6}\.vmdk$`)

// below is the backing of a disk without the files that snapshots have added.
func below(b *types.VirtualDiskFlatVer2BackingInfo) *types.VirtualDiskFlatVer2BackingInfo {
	for b.Parent != nil && layerName.MatchString(b.FileName) {
		b = b.Parent
	}
	return b
}

// layerDisks gives every disk that snapshots cover one file on top for each snapshot up to the
// current one: x-000001.vmdk, whose parent is x.vmdk. Recorded objects of vCenter show it
// (newrelic/nri-vsphere, internal/process/testdata). Without a snapshot the disk is x.vmdk
// again. Neither changes config.changeVersion: the same recording has seven snapshots that are
// younger than the version of the configuration.
//
// Numbers follow the depth of the current snapshot; vCenter counts on. The lock of the virtual
// machine is held by ctx.
func layerDisks(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	depth := 0
	if s := vm.Snapshot; s != nil && s.CurrentSnapshot != nil {
		depth = depthOf(s.RootSnapshotList, *s.CurrentSnapshot)
	}
	dc, devices := datacenterOf(ctx, vm.Self), slices.Clone(vm.Config.Hardware.Device)
	for i, d := range devices {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if !ok || strings.HasPrefix(flat.DiskMode, "independent") {
			continue
		}
		for b := flat; b != below(flat); b = b.Parent {
			_ = os.Remove(localFile(ctx, dc, b.FileName))
		}
		backing := below(flat)
		root := strings.TrimSuffix(backing.FileName, ".vmdk")
		for n := range depth {
			layer := *backing
			layer.FileName, layer.Parent = fmt.Sprintf("%s-%06d.vmdk", root, n+1), backing
			backing = &layer
			_ = os.WriteFile(localFile(ctx, dc, layer.FileName), nil, 0o600)
		}
		layered := *disk
		layered.Backing = backing
		devices[i] = &layered
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "config.hardware.device", Val: devices}})
}

// RemoveAllSnapshotsTask removes all snapshots, and the files of disks that go with them.
func (g *Gate) RemoveAllSnapshotsTask(ctx *simulator.Context, req *types.RemoveAllSnapshots_Task) soap.HasFault {
	body := &methods.RemoveAllSnapshots_TaskBody{}
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	body.Res = &types.RemoveAllSnapshots_TaskResponse{Returnval: g.onSnapshots(ctx, vm, "removeAllSnapshots", func() (types.AnyType, types.BaseMethodFault) {
		var res soap.HasFault
		ctx.WithLock(vm, func() { res = vm.RemoveAllSnapshotsTask(ctx, req) })
		return g.result(ctx, res.(*methods.RemoveAllSnapshots_TaskBody).Res.Returnval)
	})}
	return body
}
