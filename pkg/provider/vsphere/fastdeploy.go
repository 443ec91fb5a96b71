// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// fastDeploy returns how a VM is created from copies of its image, or nil if no copies are used. The
// error is an ImageCacheNotReadyError if the VM's datastore has no copies. note reports a deviation
// from the requested deploy mode. The copies are not removed before done is called.
func (d *Driver) fastDeploy(ctx context.Context, w *driver.Desired, want configspec.Desired, rep *placement.Report) (fast *create.CachedImage, note error, done func(), err error) {
	done = func() {}
	item := rep.Source.LibraryItem
	if w.FastDeploy == "" || w.FastDeploy == vmv1alpha1.FastDeployOff || item == "" || w.Image.Spec.ContentLibrary == nil {
		return nil, nil, done, nil
	}
	image, err := d.descriptors.Read(ctx, d.session, item)
	if err != nil {
		return nil, nil, done, err
	}
	if why := image.CheckCopyable(); why != nil {
		return nil, &driver.NoteError{Reason: vmv1alpha1.ReasonDeployedInstead, Message: "vSphere deploys the image; its copies are not used: " + why.Error()}, done, nil
	}
	home, err := d.resolver(w.Identity.Zone).Home(ctx, rep.Datastore)
	if err != nil {
		return nil, nil, done, err
	}
	want.Storage = rep.Storage
	policy := configspec.HomePolicy(want)
	notReady := &provider.ImageCacheNotReadyError{
		Name: provider.ImageCacheName(*w.Image.Spec.ContentLibrary), Source: *w.Image.Spec.ContentLibrary, DatastoreID: rep.Datastore.Value,
		ProfileID: configspec.HomeProfile(want),
		Location:  vmv1alpha1.VirtualMachineImageCacheLocation{VCenter: d.name, Datastore: home.InventoryPath},
		Reason:    fmt.Sprintf("the image files are not on datastore %s yet", home.Name),
	}
	if notReady.ProfileID != "" {
		notReady.Location.StoragePolicy = policy.Name
	}
	if w.ImageCache != nil {
		notReady.Name = w.ImageCache.Name
	}
	location := notReady.Place().StatusIn(w.ImageCache)
	switch {
	case location == nil || !meta.IsStatusConditionTrue(location.Conditions, vmv1alpha1.ConditionReady):
		return nil, nil, done, notReady
	case location.ItemID != "" && location.ItemID != item || location.ContentVersion != "" && location.ContentVersion != image.Version:
		notReady.Stale, notReady.Reason = true, fmt.Sprintf("the copies on datastore %s have version %s of the image; its current version is %s", home.Name, location.ContentVersion, image.Version)
		return nil, nil, done, notReady
	}
	if done, err = d.imageFiles.Use(location.Directory); err != nil {
		notReady.Stale, notReady.Reason = true, err.Error()
		return nil, nil, func() {}, notReady
	}
	fast = &create.CachedImage{Home: home, Directory: location.Directory, Files: map[string]string{}, MissingCopyError: func(path string) error {
		gone := *notReady
		gone.Stale, gone.Reason = true, "the copy "+path+" no longer exists"
		return &gone
	}}
	for _, f := range location.Files {
		fast.Files[f.ID] = f.Path
	}
	for _, file := range image.Hardware.References() {
		if _, err := file.CachedPath(fast.Files); err != nil {
			notReady.Stale, notReady.Reason = true, err.Error()
			return nil, nil, done, notReady
		}
	}
	if w.FastDeploy == vmv1alpha1.FastDeployLinked {
		why := configspec.LinkedCloneObstacle(want, image.Hardware.Disks[0].Device.CapacityInBytes)
		if fast.Linked = why == ""; !fast.Linked {
			note = &driver.NoteError{Reason: vmv1alpha1.ReasonDirectInstead, Message: "the disks are copied, not linked to the image: " + why}
		}
	}
	return fast, note, done, nil
}
