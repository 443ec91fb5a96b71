// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CPUInstancetype is the CPU part of an instance type.
type CPUInstancetype struct {
	// guest is the number of vCPUs that the guest sees, at least 1. How they are
	// arranged in sockets and cores is for the preference to say.
	Guest int32

	// model is the CPU model to present to the guest. It is stored for
	// compatibility: vSphere takes the model from the host or from EVC.
	Model *string

	// dedicatedCPUPlacement asks for physical CPUs of its own: high latency
	// sensitivity with the whole CPU reserved.
	DedicatedCPUPlacement *bool

	// numa says how NUMA is presented to the guest.
	NUMA *NUMA

	// isolateEmulatorThread asks for one more dedicated CPU for the emulator. It
	// is stored for compatibility and has no meaning on vSphere.
	IsolateEmulatorThread *bool

	// realtime tunes the vCPUs for predictable latency.
	Realtime *Realtime

	// maxSockets is the number of sockets up to which vCPUs can be added while
	// the virtual machine runs, at least 1.
	MaxSockets *int32
}

// NUMA says how NUMA is presented to the guest.
type NUMA struct {
	// guestMappingPassthrough presents the layout of the host to the guest.
	GuestMappingPassthrough *NUMAGuestMappingPassthrough
}

// NUMAGuestMappingPassthrough asks for the NUMA layout of the host. It has no
// settings.
type NUMAGuestMappingPassthrough struct{}

// Realtime tunes vCPUs for predictable latency.
type Realtime struct {
	// mask selects the vCPUs by range and exclusion, for example "0-3,^1". Empty
	// selects all of them.
	Mask string
}

// MemoryInstancetype is the memory part of an instance type.
type MemoryInstancetype struct {
	// guest is the amount of memory that the guest sees. vSphere gives memory in
	// multiples of 4 MiB.
	Guest resource.Quantity

	// hugepages backs the memory with large pages. It excludes
	// overcommitPercent.
	Hugepages *Hugepages

	// overcommitPercent is the share of guest that is not reserved on the host,
	// from 0 to 100. It excludes hugepages.
	OvercommitPercent int32

	// maxGuest is the amount up to which memory can be added while the virtual
	// machine runs, at least guest.
	MaxGuest *resource.Quantity
}

// Hugepages backs memory with large pages.
type Hugepages struct {
	// pageSize is the size of a page, for example 2Mi or 1Gi.
	PageSize string
}
