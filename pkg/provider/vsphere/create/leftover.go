// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
)

// maxHomes bounds the directories of one object on one datastore: there is more than one
// when a VM of it was taken out of the inventory and left in place.
const maxHomes = 8

// homeName is the name of a directory of the object with the UID.
func homeName(uid string, n int) string {
	if n == 0 {
		return uid
	}
	return fmt.Sprintf("%s-%d", uid, n)
}

// makeHome makes the directory of a new VM. What an attempt before has left goes, unless it may
// be of a VM that the object had; a directory in which there is a VM, or a disk of somebody else,
// does not.
func (c *Creator) makeHome(ctx context.Context, uid string, home datastore.Place, hadVM bool) (string, error) {
	for n := range maxHomes {
		name := homeName(uid, n)
		dir, err := c.files().Make(ctx, home, name)
		if err == nil || !datastore.Exists(err) {
			return dir, err
		}
		if hadVM {
			continue
		}
		_, removed, err := c.removeLeft(ctx, home, name)
		if err != nil {
			return "", err
		}
		if removed {
			return c.files().Make(ctx, home, name)
		}
	}
	return "", fmt.Errorf("datastore %s has %d directories of virtual machines that are not in the inventory and had the UID %s", home.Name, maxHomes, uid)
}

// removeLeft removes the directory that an attempt has left, unless there is a VM in it, or a
// disk that no attempt has made.
func (c *Creator) removeLeft(ctx context.Context, home datastore.Place, name string) (there, removed bool, err error) {
	dir, err := c.files().Find(ctx, home, name)
	if err != nil {
		return false, false, err
	}
	files, there, err := c.files().Files(ctx, home, dir)
	if err != nil || !there || machine(files) {
		return there, false, err
	}
	if disk := diskOfOthers(files); disk != "" {
		klog.FromContext(ctx).Info("A directory of a vSphere VM that is gone is left in place for a disk that no attempt has made", "directory", dir, "disk", disk)
		return true, false, nil
	}
	klog.FromContext(ctx).Info("What an attempt to create a vSphere VM has left is removed", "directory", dir)
	err = c.files().Remove(ctx, home, dir)
	return true, err == nil, err
}

// attemptDisk is how the disks are named that an attempt makes (storageOf), and what vSphere
// puts beside them.
var attemptDisk = regexp.MustCompile(`^disk-[0-9]+[.-]`)

// diskOfOthers names a disk among the files that no attempt has made, empty for none: that of
// a volume which was detached to be kept, or one that another VM has by now.
func diskOfOthers(files []types.BaseFileInfo) string {
	for _, f := range files {
		if name := path.Base(f.GetFileInfo().Path); path.Ext(name) == ".vmdk" && !attemptDisk.MatchString(name) {
			return name
		}
	}
	return ""
}

// machine reports whether a VM is among the files.
func machine(files []types.BaseFileInfo) bool {
	return slices.ContainsFunc(files, func(f types.BaseFileInfo) bool {
		ext := path.Ext(f.GetFileInfo().Path)
		return ext == ".vmx" || ext == ".vmtx"
	})
}

// RemoveLeftovers removes what attempts to create the VM of the object with the UID have left
// on the datastores of the zone, or on those only that are so named, and what a VM of it has
// left that was destroyed. The VM itself must not be there.
func (c *Creator) RemoveLeftovers(ctx context.Context, uid, only string) error {
	homes, err := c.homes(ctx, only)
	if err != nil {
		return err
	}
	var errs []error
	for _, home := range homes {
		for n := range maxHomes {
			there, _, err := c.removeLeft(ctx, home, homeName(uid, n))
			if err != nil {
				errs = append(errs, err)
			}
			if !there {
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Creator) homes(ctx context.Context, only string) ([]datastore.Place, error) {
	if only == "" {
		return c.Places.Homes(ctx)
	}
	return c.Places.HomesNamed(ctx, only)
}

// discard removes the directory of an attempt that has failed. With certain it is known that
// no VM was made in it.
func (c *Creator) discard(ctx context.Context, home datastore.Place, dir string, certain bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if !certain {
		files, there, err := c.files().Files(ctx, home, dir)
		if err == nil && (!there || machine(files)) {
			return
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "What a failed create has left could not be looked at", "directory", dir)
			return
		}
	}
	if err := c.files().Remove(ctx, home, dir); err != nil {
		klog.FromContext(ctx).Error(err, "Removing what a failed create has left failed; the next attempt or the deletion does it", "directory", dir)
	}
}
