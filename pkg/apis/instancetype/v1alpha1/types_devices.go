// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// GPU is a GPU of a virtual machine.
type GPU struct {
	// name identifies the GPU among the GPUs of the virtual machine.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// deviceName is the vGPU profile or the name of the pass-through device.
	// +optional
	DeviceName string `json:"deviceName,omitempty" protobuf:"bytes,2,opt,name=deviceName"`

	// virtualGPUOptions are settings of a shared GPU. They are stored for compatibility and have no effect on vSphere.
	// +optional
	VirtualGPUOptions *VGPUOptions `json:"virtualGPUOptions,omitempty" protobuf:"bytes,3,opt,name=virtualGPUOptions"`

	// tag identifies the device in the guest. It is stored for compatibility and has no effect on vSphere.
	// +optional
	Tag string `json:"tag,omitempty" protobuf:"bytes,4,opt,name=tag"`

	// claimName is the name of the resource claim that provides the device. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	ClaimName *string `json:"claimName,omitempty" protobuf:"bytes,5,opt,name=claimName"`

	// requestName is the name of the request in the claim. It is stored for compatibility and has no effect on vSphere.
	// +optional
	RequestName *string `json:"requestName,omitempty" protobuf:"bytes,6,opt,name=requestName"`
}

// VGPUOptions are settings of a shared GPU.
type VGPUOptions struct {
	// display configures the display of the GPU.
	// +optional
	Display *VGPUDisplayOptions `json:"display,omitempty" protobuf:"bytes,1,opt,name=display"`
}

// VGPUDisplayOptions configures the display of a shared GPU.
type VGPUDisplayOptions struct {
	// enabled enables the display. If unset, the platform decides.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// ramFB provides a frame buffer until the guest's driver is loaded.
	// +optional
	RamFB *FeatureState `json:"ramFB,omitempty" protobuf:"bytes,2,opt,name=ramFB"`
}

// HostDevice is a host device that is passed through to a virtual machine.
type HostDevice struct {
	// name identifies the device among the host devices of the virtual machine.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// deviceName is the name of the device on the host.
	// +optional
	DeviceName string `json:"deviceName,omitempty" protobuf:"bytes,2,opt,name=deviceName"`

	// tag identifies the device in the guest. It is stored for compatibility and has no effect on vSphere.
	// +optional
	Tag string `json:"tag,omitempty" protobuf:"bytes,3,opt,name=tag"`

	// claimName is the name of the resource claim that provides the device. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	ClaimName *string `json:"claimName,omitempty" protobuf:"bytes,4,opt,name=claimName"`

	// requestName is the name of the request in the claim. It is stored for compatibility and has no effect on vSphere.
	// +optional
	RequestName *string `json:"requestName,omitempty" protobuf:"bytes,5,opt,name=requestName"`
}

// DiskIOThreads sets the number of I/O threads.
type DiskIOThreads struct {
	// supplementalPoolThreadCount is the number of threads in the pool if ioThreadsPolicy is supplementalPool.
	// +optional
	SupplementalPoolThreadCount *int32 `json:"supplementalPoolThreadCount,omitempty" protobuf:"varint,1,opt,name=supplementalPoolThreadCount"`
}

// IOThreadsPolicy defines how disks share I/O threads.
// +enum
type IOThreadsPolicy string

const (
	// IOThreadsPolicyShared uses one thread for all disks.
	IOThreadsPolicyShared IOThreadsPolicy = "shared"
	// IOThreadsPolicyAuto distributes disks over threads in round-robin order.
	IOThreadsPolicyAuto IOThreadsPolicy = "auto"
	// IOThreadsPolicySupplementalPool uses threads from a pool of fixed size.
	IOThreadsPolicySupplementalPool IOThreadsPolicy = "supplementalPool"
)

// LaunchSecurity requests memory encryption and attestation at launch. At most one field can be set.
type LaunchSecurity struct {
	// sev requests AMD Secure Encrypted Virtualization.
	// +optional
	SEV *SEV `json:"sev,omitempty" protobuf:"bytes,1,opt,name=sev"`

	// snp requests AMD SEV with Secure Nested Paging.
	// +optional
	SNP *SEVSNP `json:"snp,omitempty" protobuf:"bytes,2,opt,name=snp"`

	// tdx requests Intel Trust Domain Extensions.
	// +optional
	TDX *TDX `json:"tdx,omitempty" protobuf:"bytes,3,opt,name=tdx"`
}

// SEV configures AMD Secure Encrypted Virtualization.
type SEV struct {
	// policy defines what is encrypted in addition to memory.
	// +optional
	Policy *SEVPolicy `json:"policy,omitempty" protobuf:"bytes,1,opt,name=policy"`

	// attestation delays the start of the virtual machine until attestation is complete.
	// +optional
	Attestation *SEVAttestation `json:"attestation,omitempty" protobuf:"bytes,2,opt,name=attestation"`

	// session is the session blob of the guest owner, base64-encoded.
	// +optional
	Session string `json:"session,omitempty" protobuf:"bytes,3,opt,name=session"`

	// dhCert is the Diffie-Hellman certificate of the guest owner, base64-encoded.
	// +optional
	DHCert string `json:"dhCert,omitempty" protobuf:"bytes,4,opt,name=dhCert"`
}

// SEVPolicy defines what is encrypted in addition to memory.
type SEVPolicy struct {
	// encryptedState also encrypts the CPU registers (SEV-ES).
	// +optional
	EncryptedState *bool `json:"encryptedState,omitempty" protobuf:"varint,1,opt,name=encryptedState"`
}

// SEVAttestation requests attestation. It has no settings.
type SEVAttestation struct{}

// SEVSNP requests SEV with Secure Nested Paging. It has no settings.
type SEVSNP struct{}

// TDX requests Intel Trust Domain Extensions. It has no settings.
type TDX struct{}
