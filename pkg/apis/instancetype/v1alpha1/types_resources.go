// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CPUInstancetype defines the vCPUs of an instance type.
type CPUInstancetype struct {
	// guest is the number of vCPUs that the guest sees. Minimum 1. The preference defines their topology.
	// +required
	Guest int32 `json:"guest" protobuf:"varint,1,opt,name=guest"`

	// model is the CPU model. It is stored for compatibility and has no effect on vSphere, where the host or EVC
	// determines the model.
	// +optional
	Model *string `json:"model,omitempty" protobuf:"bytes,2,opt,name=model"`

	// dedicatedCPUPlacement requests dedicated physical CPUs: high latency sensitivity and a full CPU reservation.
	// +optional
	DedicatedCPUPlacement *bool `json:"dedicatedCPUPlacement,omitempty" protobuf:"varint,3,opt,name=dedicatedCPUPlacement"`

	// numa defines the NUMA topology that the guest sees.
	// +optional
	NUMA *NUMA `json:"numa,omitempty" protobuf:"bytes,4,opt,name=numa"`

	// isolateEmulatorThread requests an additional dedicated CPU for the emulator. It is stored for compatibility and
	// has no effect on vSphere.
	// +optional
	IsolateEmulatorThread *bool `json:"isolateEmulatorThread,omitempty" protobuf:"varint,5,opt,name=isolateEmulatorThread"`

	// realtime tunes the vCPUs for predictable latency.
	// +optional
	Realtime *Realtime `json:"realtime,omitempty" protobuf:"bytes,6,opt,name=realtime"`

	// maxSockets is the maximum number of sockets that hot-add can reach. Minimum 1.
	// +optional
	MaxSockets *int32 `json:"maxSockets,omitempty" protobuf:"varint,7,opt,name=maxSockets"`
}

// NUMA defines the NUMA topology that the guest sees.
type NUMA struct {
	// guestMappingPassthrough exposes the host's NUMA topology to the guest.
	// +optional
	GuestMappingPassthrough *NUMAGuestMappingPassthrough `json:"guestMappingPassthrough,omitempty" protobuf:"bytes,1,opt,name=guestMappingPassthrough"`
}

// NUMAGuestMappingPassthrough exposes the host's NUMA topology to the guest. It has no settings.
type NUMAGuestMappingPassthrough struct{}

// Realtime tunes vCPUs for predictable latency.
type Realtime struct {
	// mask selects vCPUs by range and exclusion, for example "0-3,^1". It is stored for compatibility and has no effect
	// because vSphere applies latency sensitivity to all vCPUs.
	// +optional
	Mask string `json:"mask,omitempty" protobuf:"bytes,1,opt,name=mask"`
}

// MemoryInstancetype defines the memory of an instance type.
type MemoryInstancetype struct {
	// guest is the amount of memory that the guest sees. On vSphere, it must be a multiple of 4 MiB.
	// +required
	Guest resource.Quantity `json:"guest" protobuf:"bytes,1,opt,name=guest"`

	// hugepages backs the memory with large pages. Mutually exclusive with overcommitPercent.
	// +optional
	Hugepages *Hugepages `json:"hugepages,omitempty" protobuf:"bytes,2,opt,name=hugepages"`

	// overcommitPercent is the percentage of guest that is not reserved on the host. Allowed: 0 to 100. Mutually
	// exclusive with hugepages.
	// +optional
	OvercommitPercent int32 `json:"overcommitPercent,omitempty" protobuf:"varint,3,opt,name=overcommitPercent"`

	// maxGuest is the maximum memory that hot-add can reach. It must not be less than guest.
	// +optional
	MaxGuest *resource.Quantity `json:"maxGuest,omitempty" protobuf:"bytes,4,opt,name=maxGuest"`
}

// Hugepages backs memory with large pages.
type Hugepages struct {
	// pageSize is the size of a page, for example 2Mi or 1Gi.
	// +optional
	PageSize string `json:"pageSize,omitempty" protobuf:"bytes,1,opt,name=pageSize"`
}
