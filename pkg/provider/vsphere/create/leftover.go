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

// maxHomes is the maximum number of directories for one object on a datastore. An object has more than one if its
// VM was unregistered and its files were kept.
const maxHomes = 8

// homeName returns the name of the object's directory n.
func homeName(uid string, n int) string {
	if n == 0 {
		return uid
	}
	return fmt.Sprintf("%s-%d", uid, n)
}

// makeHome creates the directory of a new VM. It removes the directory of a previous attempt. It keeps a
// directory that contains a VM or a disk that no attempt has created, and every directory if the object had a VM
// before, because its files may be in it.
func (c *Creator) makeHome(ctx context.Context, uid string, home datastore.Location, hadVM bool) (string, error) {
	for n := range maxHomes {
		name := homeName(uid, n)
		dir, err := c.files().Make(ctx, home, name)
		if err == nil || !datastore.IsAlreadyExists(err) {
			return dir, err
		}
		if hadVM {
			continue
		}
		_, removed, err := c.removeAttempt(ctx, home, name)
		if err != nil {
			return "", err
		}
		if removed {
			return c.files().Make(ctx, home, name)
		}
	}
	return "", fmt.Errorf("datastore %s has %d directories with the UID %s of virtual machines that are not in the inventory", home.Name, maxHomes, uid)
}

// removeAttempt removes the directory of an earlier attempt, unless it contains a VM or a disk that no attempt has
// created.
func (c *Creator) removeAttempt(ctx context.Context, home datastore.Location, name string) (exists, removed bool, err error) {
	dir, err := c.files().Find(ctx, home, name)
	if err != nil {
		return false, false, err
	}
	files, exists, err := c.files().Files(ctx, home, dir)
	if err != nil || !exists || hasVM(files) {
		return exists, false, err
	}
	if disk := foreignDisk(files); disk != "" {
		klog.FromContext(ctx).Info("Keeping the directory of a deleted vSphere VM, because it contains a disk that no create attempt has created", "directory", dir, "disk", disk)
		return true, false, nil
	}
	klog.FromContext(ctx).Info("Removing the directory of a failed attempt to create a vSphere VM", "directory", dir)
	err = c.files().Remove(ctx, home, dir)
	return true, err == nil, err
}

// attemptDisk matches the names of disk files that an attempt creates (imageStorage), and of files that vSphere
// creates next to them.
var attemptDisk = regexp.MustCompile(`^disk-[0-9]+[.-]`)

// foreignDisk returns the name of a disk file that no attempt has created, or an empty string. It may be the disk
// of a volume that was detached, or a disk that another VM uses by now.
func foreignDisk(files []types.BaseFileInfo) string {
	for _, f := range files {
		if name := path.Base(f.GetFileInfo().Path); path.Ext(name) == ".vmdk" && !attemptDisk.MatchString(name) {
			return name
		}
	}
	return ""
}

// hasVM reports whether the files include a VM's configuration file.
func hasVM(files []types.BaseFileInfo) bool {
	return slices.ContainsFunc(files, func(f types.BaseFileInfo) bool {
		ext := path.Ext(f.GetFileInfo().Path)
		return ext == ".vmx" || ext == ".vmtx"
	})
}

// RemoveLeftovers removes files that attempts to create the object's VM have left, and files of a destroyed VM of
// the object. It searches the datastores of the zone, or only the datastores whose name is only. The VM itself must
// not exist.
func (c *Creator) RemoveLeftovers(ctx context.Context, uid, only string) error {
	homes, err := c.homes(ctx, only)
	if err != nil {
		return err
	}
	var errs []error
	for _, home := range homes {
		for n := range maxHomes {
			exists, _, err := c.removeAttempt(ctx, home, homeName(uid, n))
			if err != nil {
				errs = append(errs, err)
			}
			if !exists {
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Creator) homes(ctx context.Context, only string) ([]datastore.Location, error) {
	if only == "" {
		return c.Placement.Homes(ctx)
	}
	return c.Placement.HomesNamed(ctx, only)
}

// discard removes the directory of a failed attempt. certain is true if it is known that the attempt created no VM.
func (c *Creator) discard(ctx context.Context, home datastore.Location, dir string, certain bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if !certain {
		files, exists, err := c.files().Files(ctx, home, dir)
		if err == nil && (!exists || hasVM(files)) {
			return
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "Failed to list the directory of a failed create attempt", "directory", dir)
			return
		}
	}
	if err := c.files().Remove(ctx, home, dir); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove the directory of a failed create attempt; the next attempt or the deletion retries it", "directory", dir)
	}
}
