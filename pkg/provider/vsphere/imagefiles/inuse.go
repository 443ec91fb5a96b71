// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// details are what tells the files of a virtual machine.
var details = []string{"name", "layoutEx.file", "config.hardware.device", "snapshot"}

// userOf names a virtual machine of the vCenter, whoever's, that has a file in one of the
// directories on a datastore, or a disk with a parent there, itself or in a snapshot; empty
// for none. The error says that this is not known for sure: then nothing may be removed.
func (f *Files) userOf(ctx context.Context, ref types.ManagedObjectReference, directories ...string) (map[string]string, error) {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	// Asked first: what has ended by then is in the inventory.
	task, err := f.opts.Making(ctx)
	if err != nil {
		return nil, err
	}
	if task != "" {
		return nil, fmt.Errorf("vSphere still works on task %s, by which an earlier process may make a virtual machine", task)
	}
	vms, err := machinesOn(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	used := map[string]string{}
	for page := range slices.Chunk(vms, readPage) {
		if err := usersAmong(ctx, c, page, directories, used); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// readPage is how many virtual machines are read at once: each has some ten KB.
const readPage = 50

// machinesOn are all virtual machines that may have something on a datastore: also those
// that do not say where they are.
func machinesOn(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, fmt.Errorf("listing all virtual machines: %w", err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	var content []types.ObjectContent
	if err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"datastore"}, &content); err != nil {
		return nil, fmt.Errorf("listing all virtual machines: %w", err)
	}
	var refs []types.ManagedObjectReference
	for i := range content {
		var vm mo.VirtualMachine
		if err := mo.LoadObjectContent(content[i:i+1], &vm); err != nil {
			return nil, fmt.Errorf("listing all virtual machines: %s cannot be read: %w", content[i].Obj.Value, err)
		}
		if len(vm.Datastore) == 0 || slices.Contains(vm.Datastore, ref) {
			refs = append(refs, content[i].Obj)
		}
	}
	return refs, nil
}

// usersAmong finds users of directories.
func usersAmong(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference, directories []string, used map[string]string) error {
	var vms []mo.VirtualMachine
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, details, &vms); err != nil {
		return fmt.Errorf("reading the disks of %d virtual machines: %w", len(refs), err)
	}
	if len(vms) != len(refs) {
		return fmt.Errorf("reading the disks of %d virtual machines: vSphere told of %d", len(refs), len(vms))
	}
	for i := range vms {
		vm := &vms[i]
		if vm.LayoutEx == nil || vm.Config == nil {
			return fmt.Errorf("vSphere does not tell the disks of virtual machine %s (%s), which may be in use", vm.Name, vm.Self.Value)
		}
		files := chains(vm.Config.Hardware.Device)
		for _, file := range vm.LayoutEx.File {
			files = append(files, file.Name)
		}
		snapshots, err := snapshotFiles(ctx, c, vm)
		if err != nil {
			return err
		}
		for _, file := range append(files, snapshots...) {
			for _, dir := range directories {
				if within(file, dir) {
					used[dir] = fmt.Sprintf("virtual machine %s (%s)", vm.Name, vm.Self.Value)
				}
			}
		}
	}
	return nil
}

// within is true of the datastore path of a file in a directory of copies, whose name no other
// has: what datastores were called when the path was written does not matter.
func within(file, dir string) bool {
	_, file, _ = strings.Cut(file, "] ")
	_, dir, _ = strings.Cut(dir, "] ")
	return dir != "" && strings.HasPrefix(file, dir+"/")
}

// chains are the files of disks and of all that these are made from.
func chains(devices []types.BaseVirtualDevice) []string {
	var files []string
	for _, device := range devices {
		if disk, ok := device.(*types.VirtualDisk); ok {
			files = append(files, observe.DiskFiles(disk.Backing)...)
		}
	}
	return files
}

// snapshotFiles are the files of the disks that the snapshots of a virtual machine have.
func snapshotFiles(ctx context.Context, c *vim25.Client, vm *mo.VirtualMachine) ([]string, error) {
	if vm.Snapshot == nil {
		return nil, nil
	}
	var refs []types.ManagedObjectReference
	all := slices.Clone(vm.Snapshot.RootSnapshotList)
	for len(all) > 0 {
		refs, all = append(refs, all[0].Snapshot), append(all[1:], all[0].ChildSnapshotList...)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	var snapshots []mo.VirtualMachineSnapshot
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, []string{"config.hardware.device"}, &snapshots); err != nil {
		return nil, fmt.Errorf("reading the snapshots of virtual machine %s (%s): %w", vm.Name, vm.Self.Value, err)
	}
	if len(snapshots) != len(refs) {
		return nil, fmt.Errorf("reading the snapshots of virtual machine %s (%s): vSphere told of %d of %d", vm.Name, vm.Self.Value, len(snapshots), len(refs))
	}
	var files []string
	for i := range snapshots {
		files = append(files, chains(snapshots[i].Config.Hardware.Device)...)
	}
	return files, nil
}

// Remove implements provider.ImageFiles.
func (f *Files) Remove(ctx context.Context, datastoreID, directory string) (err error) {
	if !f.owns(directory) {
		return fmt.Errorf("%s is not removed: it is none of this server's copies", directory)
	}
	retired, err := f.uses.retire(directory)
	if err != nil {
		return err
	}
	defer func() { retired(err == nil) }()
	ref := types.ManagedObjectReference{Type: "Datastore", Value: datastoreID}
	used, err := f.userOf(ctx, ref, directory)
	if err != nil {
		return fmt.Errorf("%s is not removed: %w", directory, err)
	}
	if by := used[directory]; by != "" {
		return &provider.ImageInUseError{By: by}
	}
	at, err := f.lookUp(ctx, ref)
	if err != nil {
		return err
	}
	at.Namespaced = false // it is below what the namespace manager has
	return f.store.Remove(ctx, at, directory)
}
