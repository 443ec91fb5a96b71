// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// CachedImage describes how to create a VM from cached copies of its image's files.
type CachedImage struct {
	// Home is the location of the VM, its disks and the cached copies.
	Home datastore.Location
	// Directory is the datastore path of the copies' directory.
	Directory string
	// Files are the datastore paths of the copies, by the file ID in the descriptor.
	Files map[string]string
	// Linked creates disks that are linked to the copies and contain only the differences.
	Linked bool
	// HadVM is true if the object had a VM before. The files of that VM may be in a directory of the object.
	HadVM bool
	// MissingCopyError returns the error for a missing copy.
	MissingCopyError func(path string) error
}

// buildFast creates the VM from copies, in a directory named after the object's UID. If it fails permanently, it
// removes the directory.
func (c *Creator) buildFast(ctx context.Context, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference,
	spec types.VirtualMachineConfigSpec, hw *descriptor.Hardware, fast *CachedImage,
) (types.ManagedObjectReference, error) {
	dir, err := c.makeHome(ctx, want.Owner().UID, fast.Home, fast.HadVM)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	ref, err := c.createFromCopies(ctx, want, rep, folder, spec, hw, fast, dir)
	if err == nil {
		return ref, nil
	}
	err = c.explain(ctx, fast, err)
	if kind := vimfault.KindOf(err); isFinal(err) || kind == vimfault.AlreadyExists {
		c.discard(ctx, fast.Home, dir, kind != vimfault.AlreadyExists)
	}
	return types.ManagedObjectReference{}, err
}

// createFromCopies creates the VM in the directory.
func (c *Creator) createFromCopies(ctx context.Context, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference,
	spec types.VirtualMachineConfigSpec, hw *descriptor.Hardware, fast *CachedImage, dir string,
) (types.ManagedObjectReference, error) {
	devices, copies, err := imageStorage(hw, fast, dir)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	profile := configspec.HomeProfile(want)
	for _, change := range devices {
		if _, ok := change.Device.(*types.VirtualDisk); ok {
			change.Profile = configspec.Profile(profile)
		}
		spec.DeviceChange = append(spec.DeviceChange, change)
	}
	spec.VmProfile = configspec.Profile(profile)
	spec.Files = &types.VirtualMachineFileInfo{VmPathName: dir + "/" + want.Name + ".vmx"}
	if fast.Linked {
		spec.ExtraConfig = append(spec.ExtraConfig, keepDisks(devices), &types.OptionValue{Key: observe.LinkedKey, Value: "TRUE"})
	}
	for i := range copies {
		copies[i].Spec = diskSpec(want.Effective.BootDisk, profile)
	}
	if hw.NVRAM.File != "" { // Not shared: the virtual machine writes to it.
		from, err := hw.NVRAM.Cached(fast.Files)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		name := want.Name + ".nvram"
		copies = append(copies, datastore.Transfer{From: from, To: dir + "/" + name})
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: descriptor.NVRAMKey, Value: name})
	}
	if err := c.copyAll(ctx, fast.Home, copies); err != nil {
		return types.ManagedObjectReference{}, err
	}
	return c.createVM(ctx, folder, rep, spec)
}

// keepDisks returns the option with the names of the disks' parents.
func keepDisks(devices []*types.VirtualDeviceConfigSpec) *types.OptionValue {
	var names []string
	for _, change := range devices {
		if b, ok := change.Device.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && b.Parent != nil {
			_, name := datastore.Split(b.Parent.FileName)
			names = append(names, name)
		}
	}
	return &types.OptionValue{Key: observe.KeepDisksKey, Value: strings.Join(names, ",")}
}

// copyAll runs all copies in parallel and waits for them.
func (c *Creator) copyAll(ctx context.Context, home datastore.Location, copies []datastore.Transfer) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, t := range copies {
		wg.Go(func() {
			t.FromDatacenter, t.ToDatacenter = home.Datacenter, home.Datacenter
			if err := c.files().Copy(ctx, t); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// diskSpec returns the specification for disk copies. It uses the same provisioning as a library deployment.
func diskSpec(boot *vmv1alpha1.VirtualMachineBootDisk, profile string) types.BaseVirtualDiskSpec {
	kind := types.VirtualDiskTypeThin
	switch provisioning(boot) {
	case "thick":
		kind = types.VirtualDiskTypePreallocated
	case "eagerZeroedThick":
		kind = types.VirtualDiskTypeEagerZeroedThick
	}
	return &types.FileBackedVirtualDiskSpec{
		VirtualDiskSpec: types.VirtualDiskSpec{DiskType: string(kind), AdapterType: string(types.VirtualDiskAdapterTypeLsiLogic)},
		Profile:         configspec.Profile(profile),
	}
}

// createVM creates the VM and waits for it.
func (c *Creator) createVM(ctx context.Context, folder types.ManagedObjectReference, rep *placement.Report, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	return c.runCreateTask(ctx, "creating the vSphere VM "+spec.Name, func(vim *vim25.Client) (types.ManagedObjectReference, error) {
		res, err := methods.CreateVM_Task(ctx, vim, &types.CreateVM_Task{This: folder, Config: spec, Pool: rep.Pool, Host: rep.Host})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return res.Returnval, nil
	})
}

// runCreateTask starts a task that creates a VM, waits for it and returns the VM.
func (c *Creator) runCreateTask(ctx context.Context, operation string, start func(*vim25.Client) (types.ManagedObjectReference, error)) (types.ManagedObjectReference, error) {
	result, err := c.Actor.Task(ctx, start)
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("%s: %w", operation, err)
	}
	ref, ok := result.(types.ManagedObjectReference)
	if !ok {
		return types.ManagedObjectReference{}, fmt.Errorf("%s: vSphere returned no virtual machine", operation)
	}
	return ref, nil
}

// explain adds the error of a missing copy to err if a copy does not exist. vSphere returns several faults for a
// missing file.
func (c *Creator) explain(ctx context.Context, fast *CachedImage, err error) error {
	switch vimfault.KindOf(err) {
	case vimfault.Temporary, vimfault.Cancelled, vimfault.AlreadyExists, vimfault.Denied, vimfault.NoResources:
		return err
	default: // A missing file is one of many reasons for these faults.
	}
	byDir := map[string][]string{}
	for _, file := range fast.Files {
		dir, name := datastore.Split(file)
		byDir[dir] = append(byDir[dir], name)
	}
	for dir, names := range byDir {
		found, _, lerr := c.files().Files(ctx, fast.Home, dir)
		if lerr != nil {
			return fmt.Errorf("%w; listing the cached copies also failed: %w", err, lerr)
		}
		for _, name := range names {
			if !datastore.Has(found, name) {
				return errors.Join(fast.MissingCopyError(dir+"/"+name), err)
			}
		}
	}
	return err
}

func (c *Creator) files() *datastore.Store {
	return &datastore.Store{Session: c.Actor.Session, Inventory: c.Actor.Inventory}
}
