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

// details are the properties with a virtual machine's files.
var details = []string{"name", "layoutEx.file", "config.hardware.device", "snapshot"}

// userOf returns the virtual machines of the vCenter, managed or not, that use directories on a datastore, by
// directory. A virtual machine uses a directory if it has a file in it, or if a disk or a snapshot's disk has a
// parent in it. If it returns an error, the users are not known and nothing may be removed.
func (f *Files) userOf(ctx context.Context, ref types.ManagedObjectReference, directories ...string) (map[string]string, error) {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	// The task is checked first: the virtual machine of a task that has ended is in the inventory.
	task, err := f.opts.FindCreateTask(ctx)
	if err != nil {
		return nil, err
	}
	if task != "" {
		return nil, fmt.Errorf("task %s of an earlier process is still running and may create a virtual machine", task)
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

// readPage is the number of virtual machines that are read at once. Each has about ten KB.
const readPage = 50

// machinesOn returns all virtual machines that may have files on a datastore, including those whose datastores are
// not known.
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

// usersAmong adds the users of directories to used.
func usersAmong(ctx context.Context, c *vim25.Client, refs []types.ManagedObjectReference, directories []string, used map[string]string) error {
	var vms []mo.VirtualMachine
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, details, &vms); err != nil {
		return fmt.Errorf("reading the disks of %d virtual machines: %w", len(refs), err)
	}
	if len(vms) != len(refs) {
		return fmt.Errorf("reading the disks of %d virtual machines: vSphere returned %d", len(refs), len(vms))
	}
	for i := range vms {
		vm := &vms[i]
		if vm.LayoutEx == nil || vm.Config == nil {
			return fmt.Errorf("vSphere returned no disks for virtual machine %s (%s), which may use the files", vm.Name, vm.Self.Value)
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

// within reports whether a file is in a directory of copies. Directory names are unique, so the datastore name is
// ignored. It may have changed since the path was written.
func within(file, dir string) bool {
	_, file, _ = strings.Cut(file, "] ")
	_, dir, _ = strings.Cut(dir, "] ")
	return dir != "" && strings.HasPrefix(file, dir+"/")
}

// chains returns the files of disks and of all their parents.
func chains(devices []types.BaseVirtualDevice) []string {
	var files []string
	for _, device := range devices {
		if disk, ok := device.(*types.VirtualDisk); ok {
			files = append(files, observe.DiskFiles(disk.Backing)...)
		}
	}
	return files
}

// snapshotFiles returns the disk files of a virtual machine's snapshots.
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
		return nil, fmt.Errorf("reading the snapshots of virtual machine %s (%s): vSphere returned %d of %d", vm.Name, vm.Self.Value, len(snapshots), len(refs))
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
		return fmt.Errorf("not removing %s: it is not a copy of this server", directory)
	}
	retired, err := f.uses.retire(directory)
	if err != nil {
		return err
	}
	defer func() { retired(err == nil) }()
	ref := types.ManagedObjectReference{Type: "Datastore", Value: datastoreID}
	used, err := f.userOf(ctx, ref, directory)
	if err != nil {
		return fmt.Errorf("not removing %s: %w", directory, err)
	}
	if user := used[directory]; user != "" {
		return &provider.ImageInUseError{By: user}
	}
	at, err := f.lookUp(ctx, ref)
	if err != nil {
		return err
	}
	at.NeedsNamespaceManager = false // The directory is below the one that the namespace manager has created.
	return f.store.Remove(ctx, at, directory)
}
