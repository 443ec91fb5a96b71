// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Copy implements provider.ImageFiles.
func (f *Files) Copy(ctx context.Context, place provider.ImageCopyLocation, directory string, progress func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
	image, err := f.opts.Descriptors.Read(ctx, f.opts.Session, place.ItemID)
	if err != nil {
		return nil, err
	}
	if image.Version != place.ContentVersion {
		return nil, fmt.Errorf("copying library item %s: the item now has version %s, not %s", place.ItemID, image.Version, place.ContentVersion)
	}
	at, err := f.placeOf(ctx, place)
	if err != nil {
		return nil, err
	}
	sources, err := f.sources(ctx, place.ItemID, image)
	if err != nil {
		return nil, err
	}
	if err := f.makeDirectory(ctx, at, directory); err != nil {
		return nil, err
	}
	files, err := f.copyAll(ctx, place, at, directory, sources, progress)
	if err != nil {
		return nil, err
	}
	return f.complete(ctx, place, image, at, directory, files)
}

// complete returns the copies with their sizes. It returns an error if the item's version has changed during the
// copy.
func (f *Files) complete(ctx context.Context, place provider.ImageCopyLocation, image *descriptor.Image, at datastore.Location, directory string, files []vmv1alpha1.VirtualMachineImageCacheFile) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
	after, err := f.opts.Descriptors.ReadCurrent(ctx, f.opts.Session, place.ItemID)
	if err != nil {
		return nil, err
	}
	if after.Version != image.Version {
		return nil, fmt.Errorf("copying library item %s: its version changed to %s during the copy", place.ItemID, after.Version)
	}
	found, exists, err := f.store.Files(ctx, at, directory)
	if err != nil {
		return nil, err
	}
	for i := range files {
		_, name := datastore.Split(files[i].Path)
		if !exists || !datastore.Has(found, name) {
			return nil, fmt.Errorf("copying library item %s: %s does not exist after the copy", place.ItemID, files[i].Path)
		}
		files[i].ContentSize = descriptor.Amount(sizeOf(found, name))
	}
	return files, nil
}

// sizeOf returns the size of a file. For a disk it includes the extent if that is listed.
func sizeOf(found []types.BaseFileInfo, name string) (size int64) {
	extent := strings.TrimSuffix(name, ".vmdk") + "-flat.vmdk"
	for _, info := range found {
		if i := info.GetFileInfo(); i.Path == name || strings.HasSuffix(name, ".vmdk") && i.Path == extent {
			size += i.FileSize
		}
	}
	return size
}

// makeDirectory creates a new directory.
func (f *Files) makeDirectory(ctx context.Context, at datastore.Location, directory string) error {
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	_, err = methods.MakeDirectory(ctx, c, &types.MakeDirectory{This: *c.ServiceContent.FileManager, Name: directory, Datacenter: &at.Datacenter})
	if err != nil {
		if datastore.IsNotFound(err) { // The parent directory was deleted.
			f.tops.Clear()
		}
		return fmt.Errorf("creating directory %s: %w", directory, err)
	}
	return nil
}

// copyAll copies the files one after the other. The engine limits the number of images that are copied
// simultaneously.
func (f *Files) copyAll(ctx context.Context, place provider.ImageCopyLocation, at datastore.Location, directory string, sources []source, progress func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
	spec, err := f.diskSpec(ctx, place.ProfileID)
	if err != nil {
		return nil, err
	}
	total := newTotal(sources, progress)
	files := make([]vmv1alpha1.VirtualMachineImageCacheFile, len(sources))
	for i, s := range sources {
		files[i] = vmv1alpha1.VirtualMachineImageCacheFile{ID: s.id, Type: s.kind, Path: directory + "/" + hash(s.name) + strings.ToLower(path.Ext(s.name))}
		transfer := datastore.Transfer{
			From: s.path, FromDatacenter: s.datacenter, To: files[i].Path, ToDatacenter: at.Datacenter, Size: s.size,
		}
		if s.kind == vmv1alpha1.CachedFileDisk {
			transfer.Disk, transfer.Spec = true, spec
		}
		if err := f.transfer(ctx, transfer, func(percent int32) { total.set(i, percent) }); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// transfer copies a file.
func (f *Files) transfer(ctx context.Context, t datastore.Transfer, progress func(int32)) error {
	task, err := f.store.Begin(ctx, t)
	if err != nil {
		return err
	}
	if _, err := f.opts.Inventory.FollowTask(ctx, task, progress); err != nil {
		if vimfault.KindOf(err) == vimfault.NoResources {
			err = fmt.Errorf("%w: %w", provider.ErrNoSpace, err)
		}
		return t.Failed(err)
	}
	return nil
}

// diskSpec returns the specification of a thin disk with the profile's policy. It ignores a policy with encryption,
// because an encrypted copy could be read only with its key.
func (f *Files) diskSpec(ctx context.Context, profile string) (types.BaseVirtualDiskSpec, error) {
	spec := &types.FileBackedVirtualDiskSpec{VirtualDiskSpec: types.VirtualDiskSpec{
		DiskType: string(types.VirtualDiskTypeThin), AdapterType: string(types.VirtualDiskAdapterTypeLsiLogic)}}
	if profile == "" {
		return spec, nil
	}
	service, err := f.opts.Session.PolicyClient(ctx)
	if err != nil {
		return nil, err
	}
	encrypted, err := service.SupportsEncryption(ctx, profile)
	if err != nil {
		return nil, fmt.Errorf("checking whether storage policy %s requires encryption: %w", profile, err)
	}
	if !encrypted {
		spec.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: profile}}
	}
	return spec, nil
}

// total adds up the progress of several copies.
type total struct {
	sizes  []int64
	sum    int64
	report func(int32)

	mu   sync.Mutex
	done []float64
	last int32
}

func newTotal(sources []source, report func(int32)) *total {
	t := &total{report: report, done: make([]float64, len(sources))}
	for _, s := range sources {
		size := max(s.size, 1)
		t.sizes, t.sum = append(t.sizes, size), t.sum+size
	}
	return t
}

// set sets the progress of a copy.
func (t *total) set(i int, percent int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[i] = float64(t.sizes[i]) * float64(percent)
	var done float64
	for _, d := range t.done {
		done += d
	}
	if now := int32(done / float64(t.sum)); now > t.last {
		t.last = now
		t.report(now)
	}
}

// Missing implements provider.ImageFiles.
func (f *Files) Missing(ctx context.Context, place provider.ImageCopyLocation, directory string, files []vmv1alpha1.VirtualMachineImageCacheFile) ([]string, error) {
	at, err := f.placeOf(ctx, place)
	if err != nil {
		return nil, err
	}
	found, _, err := f.store.Files(ctx, at, directory)
	if err != nil {
		return nil, err
	}
	var missing []string
	for i := range files {
		_, name := datastore.Split(files[i].Path)
		if !datastore.Has(found, name) {
			missing = append(missing, files[i].Path)
		}
	}
	return missing, nil
}
