// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastore

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
)

// Transfer is a copy of a file.
type Transfer struct {
	// From and To are datastore paths, each in its datacenter.
	From, To                     string
	FromDatacenter, ToDatacenter types.ManagedObjectReference
	// Disk is true of a virtual disk, which is made by Spec.
	Disk bool
	Spec types.BaseVirtualDiskSpec
	// Size is the number of bytes that the copy takes at most, for messages; 0 if unknown.
	Size int64
}

// Failed returns err with the paths and the size of the transfer.
func (t Transfer) Failed(err error) error {
	what := t.From
	if t.Disk {
		what = "disk " + what
	}
	if t.Size > 0 {
		what += " (" + hardware.Bytes(t.Size) + ")"
	}
	return fmt.Errorf("copying %s to %s: %w", what, t.To, err)
}

// Begin begins to copy a file to a path that is free, and returns the task.
func (s *Store) Begin(ctx context.Context, t Transfer) (types.ManagedObjectReference, error) {
	c, err := s.Session.Vim(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	if t.Disk {
		res, err := methods.CopyVirtualDisk_Task(ctx, c, &types.CopyVirtualDisk_Task{
			This: *c.ServiceContent.VirtualDiskManager, SourceName: t.From, SourceDatacenter: &t.FromDatacenter,
			DestName: t.To, DestDatacenter: &t.ToDatacenter, DestSpec: t.Spec,
		})
		if err != nil {
			return types.ManagedObjectReference{}, t.Failed(err)
		}
		return res.Returnval, nil
	}
	res, err := methods.CopyDatastoreFile_Task(ctx, c, &types.CopyDatastoreFile_Task{
		This: *c.ServiceContent.FileManager, SourceName: t.From, SourceDatacenter: &t.FromDatacenter,
		DestinationName: t.To, DestinationDatacenter: &t.ToDatacenter,
	})
	if err != nil {
		return types.ManagedObjectReference{}, t.Failed(err)
	}
	return res.Returnval, nil
}
