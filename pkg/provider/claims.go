// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

// ClaimDisk is the disk of a PersistentVolumeClaim that a virtual machine uses. Providers attach and detach the disk and
// never delete it.
type ClaimDisk struct {
	// VolumeID is the hypervisor's ID of the disk, in lower case. Every claim that can be attached has one.
	VolumeID string
	// Size is the minimum size of the disk in bytes. A larger disk is not changed.
	Size int64
	// ReadOnly discards the writes of the guest.
	ReadOnly bool
	// Shared allows other virtual machines to attach the disk at the same time.
	Shared bool
	// WaitingReason is the reason why the disk must not be attached now; empty if it may be attached. A disk that is already
	// attached stays attached.
	WaitingReason string
}
