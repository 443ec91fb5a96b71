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
	// Disk is true for a virtual disk. The copy is created with Spec.
	Disk bool
	Spec types.BaseVirtualDiskSpec
	// Size is the maximum size of the copy in bytes, for messages. It is 0 if it is not known.
	Size int64
}

// WrapError returns err with the transfer's paths and size.
func (t Transfer) WrapError(err error) error {
	source := t.From
	if t.Disk {
		source = "disk " + source
	}
	if t.Size > 0 {
		source += " (" + hardware.FormatBytes(t.Size) + ")"
	}
	return fmt.Errorf("copying %s to %s: %w", source, t.To, err)
}

// StartCopy starts a copy to an unused path and returns the task.
func (s *Store) StartCopy(ctx context.Context, t Transfer) (types.ManagedObjectReference, error) {
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
			return types.ManagedObjectReference{}, t.WrapError(err)
		}
		return res.Returnval, nil
	}
	res, err := methods.CopyDatastoreFile_Task(ctx, c, &types.CopyDatastoreFile_Task{
		This: *c.ServiceContent.FileManager, SourceName: t.From, SourceDatacenter: &t.FromDatacenter,
		DestinationName: t.To, DestinationDatacenter: &t.ToDatacenter,
	})
	if err != nil {
		return types.ManagedObjectReference{}, t.WrapError(err)
	}
	return res.Returnval, nil
}
