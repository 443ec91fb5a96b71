// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CPUInstancetype is the CPU part of an instance type.
type CPUInstancetype struct {
	// guest is the number of vCPUs that the guest sees, at least 1. How they are
	// arranged in sockets and cores is for the preference to say.
	// +required
	Guest int32 `json:"guest" protobuf:"varint,1,opt,name=guest"`

	// model is the CPU model to present to the guest. It is stored for
	// compatibility: vSphere takes the model from the host or from EVC.
	// +optional
	Model *string `json:"model,omitempty" protobuf:"bytes,2,opt,name=model"`

	// dedicatedCPUPlacement asks for physical CPUs of its own: high latency
	// sensitivity with the whole CPU reserved.
	// +optional
	DedicatedCPUPlacement *bool `json:"dedicatedCPUPlacement,omitempty" protobuf:"varint,3,opt,name=dedicatedCPUPlacement"`

	// numa says how NUMA is presented to the guest.
	// +optional
	NUMA *NUMA `json:"numa,omitempty" protobuf:"bytes,4,opt,name=numa"`

	// isolateEmulatorThread asks for one more dedicated CPU for the emulator. It
	// is stored for compatibility and has no meaning on vSphere.
	// +optional
	IsolateEmulatorThread *bool `json:"isolateEmulatorThread,omitempty" protobuf:"varint,5,opt,name=isolateEmulatorThread"`

	// realtime tunes the vCPUs for predictable latency.
	// +optional
	Realtime *Realtime `json:"realtime,omitempty" protobuf:"bytes,6,opt,name=realtime"`

	// maxSockets is the number of sockets up to which vCPUs can be added while
	// the virtual machine runs, at least 1.
	// +optional
	MaxSockets *int32 `json:"maxSockets,omitempty" protobuf:"varint,7,opt,name=maxSockets"`
}

// NUMA says how NUMA is presented to the guest.
type NUMA struct {
	// guestMappingPassthrough presents the layout of the host to the guest.
	// +optional
	GuestMappingPassthrough *NUMAGuestMappingPassthrough `json:"guestMappingPassthrough,omitempty" protobuf:"bytes,1,opt,name=guestMappingPassthrough"`
}

// NUMAGuestMappingPassthrough asks for the NUMA layout of the host. It has no
// settings.
type NUMAGuestMappingPassthrough struct{}

// Realtime tunes vCPUs for predictable latency.
type Realtime struct {
	// mask selects the vCPUs by range and exclusion, for example "0-3,^1". Empty
	// selects all of them.
	// +optional
	Mask string `json:"mask,omitempty" protobuf:"bytes,1,opt,name=mask"`
}

// MemoryInstancetype is the memory part of an instance type.
type MemoryInstancetype struct {
	// guest is the amount of memory that the guest sees. vSphere gives memory in
	// multiples of 4 MiB.
	// +required
	Guest resource.Quantity `json:"guest" protobuf:"bytes,1,opt,name=guest"`

	// hugepages backs the memory with large pages. It excludes
	// overcommitPercent.
	// +optional
	Hugepages *Hugepages `json:"hugepages,omitempty" protobuf:"bytes,2,opt,name=hugepages"`

	// overcommitPercent is the share of guest that is not reserved on the host,
	// from 0 to 100. It excludes hugepages.
	// +optional
	OvercommitPercent int32 `json:"overcommitPercent,omitempty" protobuf:"varint,3,opt,name=overcommitPercent"`

	// maxGuest is the amount up to which memory can be added while the virtual
	// machine runs, at least guest.
	// +optional
	MaxGuest *resource.Quantity `json:"maxGuest,omitempty" protobuf:"bytes,4,opt,name=maxGuest"`
}

// Hugepages backs memory with large pages.
type Hugepages struct {
	// pageSize is the size of a page, for example 2Mi or 1Gi.
	// +optional
	PageSize string `json:"pageSize,omitempty" protobuf:"bytes,1,opt,name=pageSize"`
}
