// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

// Claim is the disk of a claim that a virtual machine asks for. It has a life of its own:
// a provider attaches and detaches it, and never destroys it.
type Claim struct {
	// VolumeID is the hypervisor's own ID of the disk, in lower case. It is known of
	// every claim that can be attached.
	VolumeID string
	// Size that the disk has at least, in bytes. A larger one is left as it is.
	Size int64
	// ReadOnly keeps what the guest writes from the disk.
	ReadOnly bool
	// Shared lets other virtual machines have the disk at the same time.
	Shared bool
	// Waiting says why the disk must not be attached now; empty when it may. One that is
	// attached already stays so.
	Waiting string
}
